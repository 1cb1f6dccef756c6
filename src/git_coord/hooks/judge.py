"""Whether an agent may change some paths, decided on the ledger itself; no words and no files."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from git_coord.app import App
from git_coord.domain.ids import Agent
from git_coord.domain.items import Item, file_item
from git_coord.domain.obstacles import kept_from
from git_coord.domain.state import LiveClaim, strongest
from git_coord.domain.team import Reach, Team, entitled
from git_coord.lean import NamedTuple
from git_coord.service.members.read_only import limits
from git_coord.service.query import NOBODY, Held, Picture


class Obstacle(NamedTuple):
    """A path and the claim that counts for it: another agent's in the way, or one's own that nobody vouches for."""

    path: str
    held: Held


@dataclass(frozen=True, slots=True)
class Judgement:
    """What is to be said of a set of paths; each of the three is a reason to refuse."""

    total: int
    claimed: tuple[Obstacle, ...]
    unclaimed: tuple[str, ...]
    """Paths for which the team wants a claim, and this agent has none."""
    lapsed: tuple[Obstacle, ...]
    """Paths under an own claim that this clone cannot vouch for any more: somebody may have it by now."""

    def only(self, paths: Collection[str]) -> Judgement:
        """Return the same with nothing in the way but at these paths."""
        claimed = tuple(one for one in self.claimed if one.path in paths)
        return replace(self, claimed=claimed, unclaimed=tuple(path for path in self.unclaimed if path in paths))

    def own(self, paths: Sequence[str]) -> Judgement:
        """Return the same for a commit whose own changes are at these paths; a merge brings the others in."""
        named = set(paths)
        total = len(named | {one.path for one in self.claimed} | {*self.unclaimed})
        return replace(self, total=total, lapsed=tuple(one for one in self.lapsed if one.path in named))

    @property
    def waited_for(self) -> set[str]:
        """Return the paths that nobody holds, and somebody in the queue keeps newcomers off."""
        return {one.path for one in self.claimed if not one.held.claim.token}

    @property
    def is_free(self) -> bool:
        """Tell whether the paths may be changed, as far as the ledger goes that is known here."""
        return not self.claimed and not self.unclaimed


def judge(now: Picture, team: Team, me: Agent | None, paths: Sequence[str]) -> Judgement:
    """Judge paths as git spells them; without a name of one's own every claim is somebody else's."""
    fold = now.state.fold
    exempt, required = Reach(team.exempt, fold), Reach(team.required, fold)
    mine = entitled(_own_items(now, me), fold)
    claimed, unclaimed, lapsed = [], [], []
    for path in paths:
        if exempt.covers(path):
            continue
        found = kept_from(now.state, me or NOBODY, (file_item(path),), now.now)
        foreign = strongest([(conflict.claim, conflict.held) for conflict in found])
        own = None if foreign else strongest([pair for pair in _covering(now, path) if pair[0].holder == me])
        if foreign is not None:
            claimed.append(Obstacle(path, now.held(foreign[0])))
        elif required.covers(path) and not mine.covers(path):
            unclaimed.append(path)
        elif own is not None and now.is_lost(own[0]):
            lapsed.append(Obstacle(path, now.held(own[0])))
    return Judgement(len(paths), tuple(claimed), tuple(unclaimed), tuple(lapsed))


def rules_here(app: App, team: Team) -> Team:
    """Return the team's rules as far as they can be kept here: a read-only clone can claim nothing first."""
    return replace(team, required=()) if limits(app.coord.files) else team


def _own_items(now: Picture, me: Agent | None) -> Iterable[Item]:
    claims = now.state.held_by(me) if me is not None else []
    return [item for claim in claims for _, item in claim.live()]


def _covering(now: Picture, path: str) -> list[tuple[LiveClaim, Item]]:
    return [
        (now.state.claims[nonce], now.state.claims[nonce].items[at]) for nonce, at in now.state.index.covering(path)
    ]
