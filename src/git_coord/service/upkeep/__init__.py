"""Keeping a clone in order: what heals, and what is cleared away."""
