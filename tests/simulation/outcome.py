"""What came of a run: figures that can be compared with and without claims, and what went wrong."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from tests.simulation.journal import Entry, Journal
from tests.simulation.plan import Plan
from tests.simulation.stage import Stage
from tests.simulation.tree import FILES, counted, marks, marks_added


@dataclass(frozen=True)
class Figures:
    """The row of the table. Edits are counted by what is in the hub's main; an edit of two files is one edit."""

    landed: int
    seconds: float
    lost_updates: int
    conflicts: int
    thrown_away: int
    by_trouble: int
    unfinished: int

    @property
    def per_edit(self) -> float:
        """Return seconds for each edit that landed."""
        return self.seconds / max(1, self.landed)


class Outcome:
    """A finished run, by its journals and its hub."""

    def __init__(self, stage: Stage, plan: Plan) -> None:
        self.stage, self.plan = stage, plan
        self.entries = {agent: Journal(stage.folder, agent).entries() for agent in plan.agents}
        self.director = Journal(stage.folder, "director").entries()

    def of(self, agent: str, event: str) -> list[Entry]:
        """Return what an agent noted of one kind."""
        return [entry for entry in self.entries[agent] if entry["event"] == event]

    def all(self, event: str) -> list[Entry]:
        """Return what all agents noted of one kind."""
        return [entry for agent in self.plan.agents for entry in self.of(agent, event)]

    def done_to(self, kind: str) -> dict[str, Entry]:
        """Return the director's entries of one kind, by agent."""
        return {entry["agent"]: entry for entry in self.director if entry["event"] == kind}

    def said_to(self, agent: str) -> str:
        """Return all that `git coord` said to an agent: its commands, and the `run` around it."""
        log = (self.stage.folder / f"{agent}.log").read_text()
        return "\n".join([log, *(f"{entry['out']}{entry['err']}" for entry in self.of(agent, "ran"))])

    def landings(self, agent: str, *, before: float) -> list[float]:
        """Return when, by the clock of the day, an agent began each push that got an edit to the hub."""
        return [entry["pushed"] for entry in self.of(agent, "landed") if entry["pushed"] < before]

    def figures(self) -> Figures:
        """Measure."""
        begun = self.director[0]["t"]
        landed = self.all("landed")
        thrown = self.all("thrown away")
        killed = self.done_to("killed").keys()
        dead = sum(len(self._unpushed(agent)) for agent in killed)
        marks_landed = {entry["mark"] for entry in landed}
        alive = [entry["mark"] for agent in set(self.plan.agents) - killed for entry in self.of(agent, "begun")]
        return Figures(
            landed=len(landed),
            seconds=max((entry["t"] for entry in landed), default=begun) - begun,
            lost_updates=self.lost_updates(),
            conflicts=len(self.all("conflict")),
            thrown_away=sum(entry["commits"] for entry in thrown) + dead,
            by_trouble=sum(entry["commits"] for entry in thrown if entry["why"] != "conflict") + dead,
            unfinished=sum(mark not in marks_landed for mark in alive),
        )

    def _unpushed(self, agent: str) -> set[str]:
        """Return the marks of commits that a dead agent took with it."""
        over = {entry["mark"] for event in ("landed", "thrown away") for entry in self.of(agent, event)}
        return {entry["mark"] for entry in self.of(agent, "committed")} - over

    def lost_updates(self) -> int:
        """Return how many edits are in a file of main without the shared function knowing of them."""
        texts = [self.stage.hub.git("show", f"main:{name}") for name in FILES]
        return sum(len(marks(text)) - counted(text) for text in texts)

    def history_faults(self) -> list[str]:
        """Return which landed edits are not in main's history exactly once, at their paths, and what else is there."""
        wanted = Counter((entry["mark"], name) for entry in self.all("landed") for name in entry["files"])
        found = Counter(marks_added(self.stage.hub))
        return sorted(
            f"{mark} in {name}: {found[mark, name]} instead of {wanted[mark, name]} times"
            for mark, name in (wanted | found)
            if wanted[mark, name] != found[mark, name]
        )
