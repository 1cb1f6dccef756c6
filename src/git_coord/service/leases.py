"""Until when this agent may rely on what it holds, who ended what it held, and what is to be said of both."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress

from git_coord.domain.durations import show_age
from git_coord.domain.ids import Nonce, Oid
from git_coord.domain.items import Item, show_name
from git_coord.domain.lease import vouched_until, warned_from
from git_coord.domain.state import LiveClaim, State
from git_coord.errors import CoordError
from git_coord.guard import beats as files
from git_coord.lean import NamedTuple

from .beat import TROUBLE, interval, last_acknowledged, local_beat, note_beat
from .context import Coord
from .endings import Ended, endings
from .ledger import open_ledger, view
from .sessions import is_known_elsewhere

SAID = "said"
"""Folder of files with what a process beside the commands had to say to each agent."""
NEVER = 1 << 52
"""When there is nothing to warn of."""


class Own(NamedTuple):
    """A claim of the acting agent, and until when this clone can vouch for it."""

    claim: LiveClaim
    until: int


class Gone(NamedTuple):
    """A claim that ended without its holder's doing: its token, and what it held, who ended it, when and why."""

    token: int
    ended: Ended

    @property
    def items(self) -> tuple[Item, ...]:
        """What it held, if that is known."""
        return self.ended.items


def alive(coord: Coord) -> None:
    """Let a command count as a sign of life; where that revives what had ended unseen, say so.

    Without a remote the ledger is here: what it still has nobody else can have got meanwhile.
    """
    if coord.identity is None or is_known_elsewhere(coord):
        return
    _end_killed(coord)
    if coord.remote is not None:
        return
    lease, now = files.read_lease(coord.files.common, coord.me.agent), coord.clock.now()
    if lease is not None and now >= lease[2] and open_ledger(coord) is not None:
        over = [each for each in own_leases(coord, coord.known.state) if now > each.until]
        if over:
            age = show_age(now - min(each.until for each in over))
            coord.notice(f"{_named(over)} had ended {age} ago; nobody took it, so this command begins its lease anew")
    note_beat(coord)


def _end_killed(coord: Coord) -> None:
    """End what a `git coord run` showed that was killed; there is a folder only while there are any."""
    if os.path.isdir(coord.files.path("running")):
        from .alive.runs import end_shown, killed  # noqa: PLC0415 - hardly ever needed

        with suppress(CoordError, OSError):
            if killed(coord) and open_ledger(coord) is not None:
                end_shown(coord)


def afterwards(coord: Coord) -> None:
    """Say at the end of a command what it has not settled: what ends soon, and what was learned beside it."""
    if coord.identity is None:
        return
    for line in said_beside(coord):
        coord.notice(line)
    lease = files.read_lease(coord.files.common, coord.me.agent)
    if lease is None or (coord.clock.now() < lease[2] and _trouble(coord) is None):
        return
    if coord.head is not None or open_ledger(coord) is not None:
        for line in warnings(coord, coord.known.state):
            coord.notice(line)


def said_beside(coord: Coord) -> list[str]:
    """Return, once, what the processes beside the commands had to say to the agent."""
    return coord.files.take(f"{SAID}/{coord.me.agent}").decode("utf-8", "replace").splitlines()


def own_leases(coord: Coord, state: State) -> list[Own]:
    """Return the acting agent's claims in the order of their tokens; a renewal that is pending vouches for nothing."""
    if coord.identity is None or coord.head is None:
        return []
    beat = local_beat(coord, state, coord.me.agent)
    return [Own(claim, good_until(coord, claim, beat)) for claim in state.held_by(coord.me.agent)]


def good_until(coord: Coord, claim: LiveClaim, beat: int | None) -> int:
    """Return until when the holder, an agent of this clone with this last beat, can vouch for a claim of the view."""
    skew = 0 if coord.remote is None else coord.settings.clock_skew
    return vouched_until(coord.known.state.claims.get(claim.op, claim), beat, skew)


class Standing(NamedTuple):
    """What there is to warn of: claims that nobody vouches for, that end soon, and whether no beat arrives."""

    over: tuple[Nonce, ...] = ()
    soon: tuple[Nonce, ...] = ()
    is_silent: bool = False


def standing(coord: Coord, state: State) -> Standing:
    """Return how things stand, to tell whether `warnings` would say something new."""
    over, soon = _over(coord, state), _soon(coord, state)
    silent = _trouble(coord) is not None
    return Standing(tuple(each.claim.op for each in over), tuple(each.claim.op for each in soon), silent)


def _over(coord: Coord, state: State) -> list[Own]:
    return [each for each in own_leases(coord, state) if coord.clock.now() > each.until]


def _soon(coord: Coord, state: State) -> list[Own]:
    now, own = coord.clock.now(), own_leases(coord, state)
    return [each for each in own if warned_from(each.claim, each.until) <= now <= each.until]


def warnings(coord: Coord, state: State) -> list[str]:
    """Return what is to be said of own claims that end soon, or that this clone can vouch for no longer."""
    now, own = coord.clock.now(), own_leases(coord, state)
    over, soon, trouble = _over(coord, state), _soon(coord, state), _trouble(coord)
    why = f" ({trouble})" if trouble else ""
    lines = []
    if over:
        step = "git coord sync" if coord.remote else "git coord renew --all"
        lines.append(
            f"{_named(over)} can be vouched for no longer: no sign of life arrived for {_silence(coord, over)}{why}. "
            f"Treat as lost until this has worked: {step}"
        )
    if soon:
        left = show_age(min(each.until for each in soon) - now)
        lines.append(f"{_named(soon)} ends in {left}: no sign of life arrived for {_silence(coord, soon)}{why}")
    if trouble and own and not lines:
        left = show_age(min(each.until for each in own) - now)
        lines.append(f"the last sign of life did not arrive{why}; what you hold is good for another {left}")
    return lines


def _silence(coord: Coord, own: Sequence[Own]) -> str:
    acknowledged = last_acknowledged(coord, coord.me.agent)
    last = max(*(each.claim.renewed for each in own), acknowledged[0] if acknowledged else 0)
    return show_age(coord.clock.now() - last)


def _named(own: Sequence[Own]) -> str:
    first = own[0].claim
    name = named(int(first.token), (item for _, item in first.live()))
    return name + (f" and {len(own) - 1} more" if len(own) > 1 else "")


def named(token: int, items: Iterable[Item]) -> str:
    """Return a claim as notices name it: its token and the first of what it holds."""
    return f"#{token} {_names(items)}".rstrip()


def _names(items: Iterable[Item]) -> str:
    shown = [show_name(item.kind, item.name) for item in items]
    return ", ".join(shown[:3]) + (f" and {len(shown) - 3} more" if len(shown) > 3 else "")


def _trouble(coord: Coord) -> str | None:
    """Return why the last beat did not arrive, None when it did."""
    at, _, words = (coord.files.read(TROUBLE) or b"").decode("utf-8", "replace").strip().partition(" ")
    return words if at.isdigit() else None


def note_trouble(coord: Coord, words: str) -> None:
    """Write down why a beat did not arrive, for the next command to say."""
    coord.files.write(TROUBLE, f"{coord.clock.now()} {words}\n".encode())


def remember(coord: Coord, state: State, *, shows: bool | None = None) -> list[Gone]:
    """Write down what the agent holds now, for the guard and for later; return, and say, what was taken from it since.

    `shows` keeps a presence that was set alive, or no longer. `state` is the view, of which only what the ledger has
    can be taken away.
    """
    if coord.actor is None or coord.head is None or coord.me.agent not in coord.known.state.agents:
        return []
    name = f"{files.LEASES}/{coord.me.agent}"
    before = (coord.files.read(name) or b"").decode("ascii", "replace").splitlines()
    is_shown = before[1:2] == ["shown"] if shows is None else shows
    gone = _gone(coord, before[2:])
    # Said before what was held is forgotten: who is killed in between says it once more.
    for line in [_ending(coord, each) for each in gone]:
        coord.learned.append(line)
        coord.notice(line)
    lost = [each for each in gone if each.ended.is_loss]
    if lost:
        from .gone import keep  # noqa: PLC0415 - hardly ever needed

        keep(coord, lost)
    own = own_leases(coord, state)
    if not own and not is_shown:
        coord.files.remove(name)
    else:
        lines = [_first_line(coord, own), "shown" if is_shown else "-", coord.known.oid]
        lines += [f"{claim.op} {claim.token}" for claim in coord.known.state.held_by(coord.me.agent)]
        if lines != before:
            coord.files.write(name, "".join(f"{line}\n" for line in lines).encode("ascii"))
    return lost


def catch_up(coord: Coord) -> None:
    """Say what became of the agent's claims, should this command have moved the ledger without looking at them."""
    if coord.identity is None:
        return
    if coord.head is None:
        # Another agent's command in this clone moved the ledger, and saw that something was missing.
        is_noted = coord.files.read(f"{files.GONE}/{coord.me.agent}") == b""
        if not is_noted or open_ledger(coord) is None:
            return
    assert coord.head is not None
    rows = (coord.files.read(f"{files.LEASES}/{coord.me.agent}") or b"").split(b"\n")
    if rows[2:3] != [coord.head.oid.encode("ascii")] and (rows[0] or coord.known.state.held_by(coord.me.agent)):
        remember(coord, view(coord)[0])


def _ending(coord: Coord, gone: Gone) -> str:
    word = "lost" if gone.ended.is_loss else "ended"
    return f"{word}: {named(gone.token, gone.items)}, {gone.ended.words(coord.clock.now())}"


def is_shown(coord: Coord) -> bool:
    """Tell whether the agent set its presence itself, and not to offline; a beat alone shows it as online."""
    rows = (coord.files.read(f"{files.LEASES}/{coord.me.agent}") or b"").splitlines()
    return rows[1:2] == [b"shown"]


def _first_line(coord: Coord, own: Sequence[Own]) -> str:
    warn = min((warned_from(each.claim, each.until) for each in own), default=NEVER)
    # Where beats are commits on a branch nobody wants them: a claim is kept by renewing it.
    seconds = 0 if coord.remote is None else NEVER if coord.settings.keeps_history else interval(coord)
    return f"{coord.me.session} {seconds} {max(0, warn)}"


def _gone(coord: Coord, before: Sequence[str]) -> list[Gone]:
    """Return what was held at an earlier head, is not any more, and was not given up by the agent itself."""
    rows = [row.split(" ") for row in before[1:]]
    missing = {Nonce(row[0]): int(row[1]) for row in rows if len(row) == 2 and row[0] not in coord.known.state.claims}
    if not missing:
        return []
    found = endings(coord, Oid(before[0]), missing)
    return [Gone(missing[nonce], ended) for nonce, ended in found.items()]
