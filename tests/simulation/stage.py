"""A bare hub with the files that everybody wants, and a clone for each agent, set up or not."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from tests.helpers import Repo, new_repo
from tests.simulation.plan import SKEW, Plan
from tests.simulation.tree import FILES, fresh

FOUND = (
    "import sys; from git_coord.service import membership; membership.SKEW = int(sys.argv.pop(1));"
    "from git_coord.__main__ import main; main()"
)
"""`git coord init` with another skew: a real ledger always has 60 s, for which a short run cannot wait."""
SETTINGS = {"coord.minTtl": "1s", "coord.clockSkew": f"{SKEW}s", "coord.freshness": "1s"}


@dataclass(frozen=True)
class Stage:
    """Where a run takes place; `clones` by agent."""

    folder: Path
    hub: Repo
    clones: dict[str, Repo]
    first: str

    def clone(self, name: str, *options: str) -> Repo:
        """Clone the hub once more."""
        path = self.folder / name
        self.hub.git("clone", "-q", *options, self.hub.path.as_uri(), str(path))
        return Repo(path, self.hub.env)


def build(folder: Path, env: dict[str, str], plan: Plan, *, with_claims: bool) -> Stage:
    """Make hub and clones; with claims, everybody has joined and the hooks are there."""
    hub = new_repo(folder / "hub.git", env, "--bare")
    seed = new_repo(folder / "seed", env)
    first = seed.commit("first", **dict.fromkeys(FILES, fresh(plan.agents)))
    seed.git("push", "-q", str(hub.path), "main")
    stage = Stage(folder, hub, {}, first)
    for agent in plan.agents:
        stage.clones[agent] = stage.clone(agent)
        if with_claims:
            _join(stage.clones[agent], agent)
    return stage


def _join(clone: Repo, agent: str) -> None:
    for name, value in SETTINGS.items():
        clone.git("config", name, value)
    clone.run(sys.executable, "-c", FOUND, str(SKEW), "init", "--agent", agent, check=True)
    clone.run("git", "coord", "hooks", "install", check=True)
