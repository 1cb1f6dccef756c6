"""What a shape is: where beta works in a founded world, and the worlds that need a founding of their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.helpers import Repo
from tests.shapes.world import HELD, World, found


@dataclass(frozen=True)
class Stage:
    """Where beta works, and how what the scenario does is spelled there."""

    world: World
    desk: Repo
    remote: str | None = "origin"
    held: str = HELD
    """The held path as beta spells it."""
    ledger: str = "adopted"
    """What `init` says of the ledger."""

    @property
    def peer(self) -> Repo:
        """Where alpha works."""
        return self.world.alpha

    def hub_heads(self) -> dict[str, str]:
        """Return the hub's branches."""
        return self.world.hub.refs("refs/heads")


Builder = Callable[[World], Stage]
FOUNDED: dict[str, tuple[tuple[str, ...], dict[str, str]]] = {
    "sha256": (("--object-format=sha256",), {}),
    "reftable": (("--ref-format=reftable",), {}),
    "ignorecase": ((), {"core.ignoreCase": "true"}),
    "nfc": ((), {"core.precomposeUnicode": "true"}),
}
"""Shapes whose ledger has to be born in a hub of their own: options of `git init`, settings of the founder."""


def has_reftable(folder: Path, env: Mapping[str, str]) -> bool:
    """Tell whether this git can make a repository with reftables (2.45 and newer can)."""
    tried = Repo(folder, dict(env)).run("git", "init", "-q", "--bare", "--ref-format=reftable", "reftable-probe.git")
    return tried.code == 0


def refound(name: str, world: World) -> World:
    """Found another world with the options of a shape."""
    options, settings = FOUNDED[name]
    folder = world.folder / name
    folder.mkdir()
    return found(folder, world.alpha.env, *options, settings=settings)
