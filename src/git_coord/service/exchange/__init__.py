"""What goes to the remote and what comes from it."""
