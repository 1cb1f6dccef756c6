"""How records sit in git."""
