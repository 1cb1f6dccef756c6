"""Who belongs to the ledger, and who only looks."""
