"""A hub and the clones of two agents."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from tests.helpers import Repo


@dataclass(frozen=True)
class Pair:
    """A hub, and the clones of two agents."""

    hub: Repo
    alpha: Repo
    beta: Repo

    def set_url(self, url: str) -> None:
        """Let both reach the hub in another way."""
        for clone in (self.alpha, self.beta):
            clone.git("config", "remote.origin.url", url)

    def configure(self, key: str, value: str) -> None:
        """Set something in both clones."""
        for clone in (self.alpha, self.beta):
            clone.git("config", key, value)

    def be_hasty(self, *names: str) -> None:
        """Let alpha give a remote up after a second that says nothing."""
        for name in names:
            self.alpha.git("config", f"coord.{name}", "1s")

    def be_patient(self) -> None:
        """Let alpha wait again as long as a loaded machine may need."""
        for name in ("fetchTimeout", "pushTimeout"):
            self.alpha.git("config", f"coord.{name}", "2m")

    def hook(self, name: str, lines: str) -> Path:
        """Put a hook into the hub."""
        path = self.hub.write(f"hooks/{name}", f"#!/bin/sh\n{lines}\n")
        path.chmod(0o755)
        return path

    @property
    def prefix(self) -> str:
        """What our refs at the hub begin with."""
        return self.alpha.run("git", "config", "coord.refPrefix").out.strip() or "refs/coord"

    def claims_at_hub(self) -> list[str]:
        """Return what the hub's ledger says in words, the oldest first: a line for each operation."""
        said = self.hub.git("log", "--reverse", "--format=%B", f"{self.prefix}/claims")
        return [line for line in said.splitlines() if line]


def clones(folder: Path, env: dict[str, str], url: str, hub: Repo, **own: dict[str, str]) -> Pair:
    """Clone a hub for both, each with an environment of its own besides."""
    made = []
    for name in ("alpha", "beta"):
        there = Repo(folder, env | own.get(name, {}))
        there.git("clone", "-q", url, str(folder / name))
        made.append(replace(there, path=folder / name))
    return Pair(hub, *made)
