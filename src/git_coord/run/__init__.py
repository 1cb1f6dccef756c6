"""A command under `git coord run`: its process, the claims it works under, and what is done when either ends."""
