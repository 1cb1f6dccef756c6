"""What an agent is told once a session: who waits for what it holds, and what came to it while it was not acting."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from git_coord.domain.durations import show_age
from git_coord.domain.ids import Nonce
from git_coord.domain.items import Item, show_name
from git_coord.domain.obstacles import conflicts
from git_coord.domain.state import Waiter

from .context import Coord

FOLDER = "told"
"""A file for each agent and session: nonces of the waiters and claims that it was told of."""


def tell(coord: Coord) -> list[str]:
    """Return what the agent was not told yet, and remember it; where that cannot be written, it is told again."""
    found = {**_arrived(coord), **_waiters(coord)}
    name = f"{FOLDER}/{coord.me.agent}.{coord.me.session}"
    told = set((coord.files.read(name) or b"").decode("ascii", "replace").split())
    fresh = [line for nonce, line in found.items() if nonce not in told]
    if fresh:
        with suppress(OSError):  # a read-only repository
            coord.files.write(name, "".join(f"{nonce}\n" for nonce in found).encode("ascii"))
    return fresh


def _arrived(coord: Coord) -> dict[Nonce, str]:
    """Return the own claims that came by the queue or by hand and were not renewed since."""
    return {
        claim.op: f"#{claim.token} {_names(item for _, item in claim.live())} came to you: waited for, or handed over"
        for claim in coord.known.state.held_by(coord.me.agent)
        if claim.unattended
    }


def _waiters(coord: Coord) -> dict[Nonce, str]:
    """Return the waiters that have something of the agent's in their way."""
    lines = {nonce: _waits(coord, waiter) for nonce, waiter in coord.known.state.waiting.items()}
    return {nonce: line for nonce, line in lines.items() if line is not None}


def _waits(coord: Coord, waiter: Waiter) -> str | None:
    left = (waiter.op.wait_until or 0) - coord.clock.now()
    held = [c for c in conflicts(coord.known.state, waiter.agent, waiter.op.items) if c.claim.holder == coord.me.agent]
    if not held or left < 0:
        return None
    why = f', "{waiter.op.purpose}"' if waiter.op.purpose else ""
    token = held[0].claim.token
    return (
        f"{waiter.agent} waits for {_names(dict.fromkeys(c.asked for c in held))} (#{token}{why}), for at most another "
        f"{show_age(left)}; when you are done: git coord release '#{token}'"
    )


def _names(items: Iterable[Item]) -> str:
    shown = [show_name(item.kind, item.name) for item in items]
    return ", ".join(shown[:3]) + (f" and {len(shown) - 3} more" if len(shown) > 3 else "")
