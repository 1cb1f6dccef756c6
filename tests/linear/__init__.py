"""Histories of real processes, and a checker that says whether one thing after another could have made them."""
