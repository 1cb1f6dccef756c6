"""The composition root, and what only it can do: set a clone up, take it down, look it over."""

from .root import App, file_signer, identify, key_path, open_app, worktrees_own

__all__ = ["App", "file_signer", "identify", "key_path", "open_app", "worktrees_own"]
