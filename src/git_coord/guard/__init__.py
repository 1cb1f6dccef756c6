"""The fast path that hooks run: standard library only."""
