"""What people are told of a ledger that was restored: who did it, until when nothing is granted, and what to type."""

from __future__ import annotations

from collections.abc import Mapping

from git_coord.domain.chain import OpId, Placed
from git_coord.domain.durations import show_age
from git_coord.domain.granting import MAX_WAIT
from git_coord.domain.ids import Oid
from git_coord.domain.items import show_name
from git_coord.domain.ledger import Refusal, Refused
from git_coord.domain.restoring import hold_end, is_listed, is_on_hold
from git_coord.domain.state import State
from git_coord.domain.statements import Restore
from git_coord.domain.timestamps import format_stamp
from git_coord.errors import CoordError, Kind
from git_coord.service.context import Coord


def hold_words(state: State, now: int) -> str | None:
    """Return why nothing is granted now, and until when; None when that is not so."""
    end, restored = hold_end(state), state.restored
    if end is None or restored is None or not is_on_hold(state, now):
        return None
    return (
        f"{restored.agent} put back a ledger that the remote had lost, at {_clock(restored.at)}: until {_clock(end)} "
        f"({show_age(end - now)}) nothing is granted, so that whoever had more of it can place that again"
    )


def on_hold(state: State, now: int) -> CoordError | None:
    """Return the error of who asks for something while a restored ledger is on hold, None when it is not."""
    words, end, restored = hold_words(state, now), hold_end(state), state.restored
    if words is None or end is None or restored is None:
        return None
    data = {"restored_by": restored.agent, "restored_at": format_stamp(restored.at), "hold_until": format_stamp(end)}
    return CoordError(Kind.UNKNOWN, words, next="git coord sync", data=data | {"wait": wait_of(state, now)})


def wait_of(state: State, now: int) -> str:
    """Return for how long to wait in line so that the hold is over by then, as `--wait` takes it."""
    left = (hold_end(state) or now) - now + state.skew
    return f"{min(MAX_WAIT // 60, left // 60 + 1)}m"


def _clock(stamp: int) -> str:
    return f"{format_stamp(stamp)[11:16]} UTC"


def tell(coord: Coord, tip: Oid | None, *, by: str = "this clone") -> None:
    """Say that the ledger was restored; `tip` is where the remote had been found."""
    assert coord.remote is not None
    name = coord.remote.name
    what = f"{name} had lost the ledger" if tip is None else f"the ledger at {name} had gone back to {tip[:10]}"
    words = f"{what}; {by} put it back"
    end = hold_end(coord.known.state)
    if end is not None and is_on_hold(coord.known.state, coord.clock.now()):
        words += f": until {_clock(end)} nothing is granted, so that whoever had more of it can place that again"
    _say(coord, words)


def tell_restored(coord: Coord, placed: Mapping[OpId, Placed]) -> None:
    """Say what a move of this clone's ledger has brought: a restoring, and what others had that is in our way."""
    for each in placed.values():
        op, outcome = each.sealed.op, each.outcome
        if isinstance(op, Restore) and coord.remote is not None:
            tell(coord, op.found, by=str(op.agent))
        elif isinstance(outcome, Refused) and is_listed(outcome.state, op.agent, op.nonce):
            _tell_holder(coord, each, outcome)


def tell_replayed(coord: Coord, before: State, count: int) -> None:
    """Say what this clone has placed again, and under which numbers the agent now holds what it held."""
    me = coord.identity.agent if coord.identity else None
    held = [
        (claim.token, before.claims[claim.op].token)
        for claim in coord.known.state.claims.values()
        if claim.holder == me and claim.op in before.claims
    ]
    moved = ", ".join(f"#{old} is #{new} now" for new, old in sorted(held) if new != old)
    if count:
        _say(coord, f"placed again {count} operation{'s' * (count > 1)} that this clone had{': ' * bool(moved)}{moved}")


def _tell_holder(coord: Coord, placed: Placed, refused: Refused) -> None:
    me = coord.identity.agent if coord.identity else None
    mine = next((found for found in refused.conflicts if found.claim.holder == me), None)
    if refused.reason is Refusal.CONFLICT and mine is not None:
        what = show_name(mine.asked.kind, mine.asked.name)
        agent = placed.sealed.op.agent
        _say(
            coord,
            f"{agent} held {what} in the part of the ledger that was lost, and may have changed it: your "
            f"#{mine.claim.token} stands, {agent} is told; git coord post --to {agent} TEXT",
        )


def _say(coord: Coord, words: str) -> None:
    coord.learned.append(words)
    coord.notice(words)
