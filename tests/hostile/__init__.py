"""Whoever may write to the hub, and bytes that nobody meant: nothing of it is believed, and nothing crashes."""
