"""`git coord watch`: events as they happen, to the terminal, to a command, to a webhook."""
