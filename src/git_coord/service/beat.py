"""Signs of life: each command is one; it becomes a ref only when a push happens anyway, and then keeps claims alive."""

from __future__ import annotations

from collections.abc import Sequence

from git_coord.domain.ids import Agent
from git_coord.domain.state import State
from git_coord.store import refnames
from git_coord.store.interface import PushedRef, PushStatus
from git_coord.store.refnames import Family

from .context import Coord

LEAST_SECONDS = 300
PER_AGENT_SECONDS = 15
"""A beat is pushed at most every max(5 min, 15 s for each agent): hosts advise about six pushes a minute."""
FOLDER = "beats"


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
            _write(coord, own.at)


def _write(coord: Coord, at: int) -> None:
    coord.files.write(f"{FOLDER}/{coord.me.agent}", f"{at} {coord.me.session}\n".encode("ascii"))


def last_acknowledged(coord: Coord, agent: Agent) -> tuple[int, str] | None:
    """Return `(at, session)` of the last sign of life that this clone knows to be acknowledged, None for none."""
    words = (coord.files.read(f"{FOLDER}/{agent}") or b"").decode("ascii", "replace").split()
    return (int(words[0]), words[1]) if len(words) == 2 and words[0].isdigit() else None


def local_beats(coord: Coord, state: State) -> dict[Agent, int]:
    """Return the beats of this clone's own agents, for the sessions that the ledger calls current."""
    found = {}
    for agent, member in state.agents.items():
        beat = last_acknowledged(coord, agent)
        if beat is not None and beat[1] == member.session and beat[0] <= coord.clock.now() + state.skew:
            found[agent] = beat[0]
    return found


def beat_if_due(coord: Coord) -> None:
    """Renew the agent's presence when the last acknowledged beat is old enough; the push that follows carries it."""
    member = coord.known.state.agents.get(coord.me.agent) if coord.identity else None
    if member is None or coord.settings.keeps_history or member.session != coord.me.session:
        return
    last = last_acknowledged(coord, coord.me.agent)
    # A last one from the future, after a clock was set back, is no reason to keep silent.
    if last is not None and last[1] == coord.me.session and 0 <= coord.clock.now() - last[0] < _interval(coord):
        return
    from .presence import Wish, current_state, set_presence  # noqa: PLC0415 - only when one is due

    set_presence(coord, Wish(current_state(coord)))


def _interval(coord: Coord) -> float:
    state = coord.known.state
    shortest = min((claim.ttl for claim in state.held_by(coord.me.agent)), default=3 * LEAST_SECONDS)
    return min(shortest / 3, max(LEAST_SECONDS, PER_AGENT_SECONDS * len(state.agents)))
