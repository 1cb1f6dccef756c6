"""Commands typed at a shell."""
