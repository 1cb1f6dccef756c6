"""What was claimed under a `git coord run`, by whichever process: given back when that ends."""

from __future__ import annotations

from collections.abc import Collection

from git_coord.domain.ids import Nonce, is_nonce

from .context import Coord

FOLDER = "runs"
"""One file a run: nonces of the claims, one a line."""


def note_claimed(coord: Coord, nonce: Nonce) -> None:
    """Remember a claim, before it is published, for the end of the run it is made under, if there is one."""
    if coord.run is not None:
        coord.files.append(f"{FOLDER}/{coord.run}", f"{nonce}\n".encode("ascii"))


def claimed_under(coord: Coord, run: str) -> Collection[Nonce]:
    """Return what was claimed under a run, whether or not it is held still."""
    words = (coord.files.read(f"{FOLDER}/{run}") or b"").decode("ascii", "replace").split()
    return {Nonce(word) for word in words if is_nonce(word)}


def forget_run(coord: Coord, run: str) -> None:
    """Forget a run that has ended."""
    coord.files.remove(f"{FOLDER}/{run}")
