"""The look around before work: who is here, what is in the way, and whether to go, wait, or ask a person."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from git_coord.domain.items import Item, show_name
from git_coord.domain.text import escape_for_display
from git_coord.lean import NamedTuple

from .checkout import neighbours
from .claiming import hold_error
from .context import Coord
from .members.read_only import read_only
from .presence import Seen, roster
from .query import Checked, Picture, check, picture
from .sessions import elsewhere

GO, WAIT, ASK, UNKNOWN = "go", "wait", "ask", "unknown"


class Reason(NamedTuple):
    """Why not to go, in words, and by whom.

    "held", "blocked", "stale", "restored" (on hold after that), "shared" (checkout), "session", "setup".
    """

    kind: str
    text: str
    agent: str | None


@dataclass(frozen=True, slots=True)
class Preflight:
    """What was found; `asked` are the items named, `changed` the uncommitted files that somebody else holds."""

    decision: str
    reasons: list[Reason]
    here: list[Seen]
    shared_with: list[Seen]
    asked: list[Checked]
    changed: list[Checked]
    now: Picture


def look_around(coord: Coord, items: Sequence[Item], changed: Sequence[Item]) -> Preflight:
    """Decide from the local view.

    1. Held by who is alive: wait. 2. A lease that is over, a shared checkout, a session that is not the agent's current
    one, nobody set up here: ask, because whatever a program did next could be wrong. 3. Unheld, but the ledger was
    restored a moment ago: unknown. 4. Else go.
    """
    now, everybody = picture(coord), roster(coord)
    me = coord.actor
    asked = check(coord, items, now)
    foreign = [found for found in check(coord, changed, now) if found.status not in ("free", "mine", "unknown")]
    shared = neighbours(coord, everybody) if me is not None else []
    reasons = [reason for found in asked if (reason := _in_the_way(found, "")) is not None]
    reasons += [reason for found in foreign if (reason := _in_the_way(found, ", changed here,")) is not None]
    reasons += [Reason("shared", f"{seen.agent} is at work in this checkout too", seen.agent) for seen in shared]
    reasons += _session(coord)
    if any(found.status == "unknown" for found in asked) and (held_back := hold_error(now.state, now.now)):
        reasons.append(Reason("restored", held_back.message, held_back.data["restored_by"]))
    here = [seen for seen in everybody if seen.agent != me and seen.is_live]
    return Preflight(_decision(reasons), reasons, here, shared, asked, foreign, now)


def _decision(reasons: Sequence[Reason]) -> str:
    kinds = {reason.kind for reason in reasons}
    if kinds & {"held", "blocked"}:
        return WAIT
    return UNKNOWN if "restored" in kinds else ASK if kinds else GO


def _in_the_way(found: Checked, remark: str) -> Reason | None:
    if found.status in ("free", "mine", "unknown"):
        return None
    name = escape_for_display(show_name(found.asked.kind, found.asked.name))
    holder = found.held.claim.holder if found.held is not None else None
    if found.blocks:
        first = found.blocks[0]
        why = f': "{first.reason}"' if first.reason else ""
        return Reason("blocked", f"{name} is blocked by {first.agent}{why}", first.agent)
    words = {"held": f"is held by {holder}", "stale": f"is held by {holder}, whose lease is over"}
    return Reason(found.status, f"{name}{remark} {words.get(found.status, f'is {found.status}')}", holder)


def _session(coord: Coord) -> list[Reason]:
    if coord.identity is None and read_only(coord.files):
        return []  # it can claim nothing anyway, and what it has to know stands in `status`
    if coord.identity is None:
        return [Reason("setup", "no agent is set up here", None)]
    member = coord.known.state.agents.get(coord.me.agent)
    if member is None:
        return [Reason("setup", f"{coord.me.agent} has not joined", None)]
    if member.session != coord.me.session:
        found = elsewhere(coord)
        assert found is not None
        return [Reason("session", found.words(coord.clock.now()), None)]
    return []
