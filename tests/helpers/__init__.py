"""A small library that lets a test read like a shell session. Imports nothing of the program."""

from tests.helpers.patience import PATIENCE, until
from tests.helpers.repo import Completed, Failed, Repo, hub_with_clones, new_repo, run
from tests.helpers.seal import seal, sealed_env

__all__ = [
    "PATIENCE",
    "Completed",
    "Failed",
    "Repo",
    "hub_with_clones",
    "new_repo",
    "run",
    "seal",
    "sealed_env",
    "until",
]
