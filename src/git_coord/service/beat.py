"""Signs of life: each command is one; it becomes a ref only when a push happens anyway, or when one is due."""

from __future__ import annotations

from collections.abc import Sequence

from git_coord.domain.ids import Agent
from git_coord.domain.lease import beat_interval, is_unattended
from git_coord.domain.state import State
from git_coord.guard import beats as files
from git_coord.store import refnames
from git_coord.store.interface import PushedRef, PushStatus
from git_coord.store.refnames import Family

from .context import Coord

TROUBLE = "beat.trouble"
"""Why the last push of a beat failed: `AT WORDS`; gone when one arrived."""
SHOWN = "shown"
"""For how long each agent's presence is believed: `TTL SESSION`."""
UNPUSHED_SECONDS = 5
"""A heartbeat made this lately, and not pushed yet, is as good as a new one."""


def note_beat(coord: Coord) -> None:
    """Write down that the agent is alive; without a remote nobody has to acknowledge it."""
    if coord.remote is None and coord.identity is not None:
        _write(coord, coord.clock.now())


def note_pushed(coord: Coord, results: Sequence[PushedRef]) -> None:
    """Write down that the remote has the agent's heartbeat, when one of these pushes carried it."""
    if coord.identity is None:
        return
    ref = refnames.owned(Family.PRESENCE, coord.me.agent)
    if any(result.ref == ref and result.status is not PushStatus.REJECTED for result in results):
        from .presence import records  # noqa: PLC0415 - only when one was pushed

        own = records(coord).get(coord.me.agent)
        if own is not None:
            # Who said goodbye, and holds nothing, is seen again with the very next thing it does.
            is_gone = own.state == "offline" and not coord.known.state.held_by(coord.me.agent)
            _write(coord, 0 if is_gone else own.at)
            coord.files.remove(TROUBLE)


def _write(coord: Coord, at: int) -> None:
    coord.files.note(f"{files.BEATS}/{coord.me.agent}", f"{at} {coord.me.session}\n".encode("ascii"))


def last_acknowledged(coord: Coord, agent: Agent) -> tuple[int, str] | None:
    """Return `(at, session)` of the last sign of life that this clone knows to be acknowledged, None for none."""
    last = files.last_beat(coord.files.common, agent)
    return None if last is None else (last[0], last[1].decode("ascii", "replace"))


def local_beat(coord: Coord, state: State, agent: Agent) -> int | None:
    """Return the agent's beat by this clone's own files, for the session that the ledger calls current."""
    member = state.agents.get(agent)
    beat = last_acknowledged(coord, agent) if member else None
    if member is None or beat is None or beat[1] != member.session or beat[0] > coord.clock.now() + state.skew:
        return None
    return beat[0]


def local_beats(coord: Coord, state: State) -> dict[Agent, int]:
    """Return the beats of this clone's own agents."""
    found = {agent: local_beat(coord, state, agent) for agent in state.agents}
    return {agent: at for agent, at in found.items() if at is not None}


def beat_if_due(coord: Coord, *, acts: bool = False) -> bool:
    """Renew the agent's presence when the last acknowledged beat is old enough; the push that follows carries it.

    Returns whether there is one to push. An agent that said it is offline, and holds nothing, stays so until it `acts`.
    """
    member = coord.known.state.agents.get(coord.me.agent) if coord.identity else None
    if member is None or coord.settings.keeps_history or member.session != coord.me.session:
        return False
    last = last_acknowledged(coord, coord.me.agent)
    # A last one from the future, after a clock was set back, is no reason to keep silent.
    if last is not None and last[1] == coord.me.session and 0 <= coord.clock.now() - last[0] < interval(coord):
        return False
    from .presence import Wish, current_state, own_record, set_presence  # noqa: PLC0415 - only when one is due

    own = own_record(coord)
    if own is not None and _is_new(coord, own.at):
        return True
    if own is not None and own.state == "offline" and not acts and not coord.known.state.held_by(coord.me.agent):
        return False
    set_presence(coord, Wish(current_state(coord), is_beat=True))
    return True


def _is_new(coord: Coord, at: int) -> bool:
    """Tell whether the present heartbeat was just made, and is still to be pushed."""
    ref = refnames.owned(Family.PRESENCE, coord.me.agent)
    there = refnames.fetched(ref)
    values = coord.store.refs(ref, there)
    fresh = 0 <= coord.clock.now() - at < min(UNPUSHED_SECONDS, interval(coord))
    return fresh and values.get(ref) != values.get(there)


def interval(coord: Coord) -> int:
    """Return after how many seconds the agent's next beat is due: only those share who hold something.

    At once, when a claim came to the agent while it was not acting: that one ends soon without.
    """
    state = coord.known.state
    own = state.held_by(coord.me.agent)
    if any(claim.unattended for claim in own):
        beat = local_beat(coord, state, coord.me.agent)
        if any(is_unattended(claim, beat) for claim in own):
            return 1
    shown = _shown_ttl(coord)
    return min([beat_interval([claim.ttl for claim in own], _sharing(coord)), *([max(1, shown // 3)] if shown else [])])


def share_of_beats(coord: Coord) -> int:
    """Return after how many seconds a beat is due for who holds nothing that ends sooner."""
    return beat_interval([], _sharing(coord))


def _sharing(coord: Coord) -> int:
    return len({claim.holder for claim in coord.known.state.claims.values()})


def note_ttl(coord: Coord, ttl: int | None) -> None:
    """Write down for how long the agent's presence is believed: its beats have to keep that pace; None, when gone."""
    name = f"{SHOWN}/{coord.me.agent}"
    if ttl is None:
        coord.files.remove(name)
    else:
        coord.files.note(name, f"{ttl} {coord.me.session}\n".encode("ascii"))


def _shown_ttl(coord: Coord) -> int | None:
    words = (coord.files.read(f"{SHOWN}/{coord.me.agent}") or b"").decode("ascii", "replace").split()
    is_own = len(words) == 2 and words[0].isdigit() and words[1] == coord.me.session
    return int(words[0]) if is_own else None
