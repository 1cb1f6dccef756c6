"""Who may hold what: pure rules, no input or output."""
