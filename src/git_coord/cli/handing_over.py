"""The words of `git coord release --to`."""

from __future__ import annotations

from git_coord.app import App
from git_coord.domain.ids import Agent, is_agent
from git_coord.errors import CoordError, Kind
from git_coord.service import query
from git_coord.service.handover import HandedOver
from git_coord.service.handover import hand_over as hand
from git_coord.service.selection import Selection

from . import render
from .output import Output
from .release_command import gone, names_of, served_lines, served_objects


def hand_over(app: App, chosen: Selection, to: str, reason: str) -> list[HandedOver]:
    """Hand over what was chosen; raises CoordError(USAGE) for what cannot be an agent's name."""
    if not is_agent(to):
        raise CoordError(Kind.USAGE, f"--to {to!r} cannot be an agent's name")
    return hand(app.coord, chosen, Agent(to), reason)


def tell(app: App, output: Output, to: str, done: list[HandedOver]) -> int:
    """Say what its receiver has now, and until when it must show itself."""
    served = [each for one in done for each in one.served]
    now = query.picture(app.coord)
    if output.is_json:
        rows = [_object(one, to, now) for one in done]
        confirmed = all(one.moved is not None for one in done)
        output.object({"confirmed": confirmed, "claims": rows, "granted": served_objects(served)})
        return 0
    output.lines([line for one in done for line in _lines(one, to, now)])
    if any(one.moved is None for one in done):
        output.lines(render.not_sent("no answer"))
    output.lines(served_lines(served))
    return 0


def _object(one: HandedOver, to: str, now: query.Picture) -> dict[str, object]:
    """Return the receiver's claim, or the giver's while it is not confirmed; `given` is the token it had."""
    assert one.left.before is not None
    shown = render.claim_object(now.held(one.moved or one.left.before))
    return {**shown, "given": one.left.before.token, "to": to}


def _lines(one: HandedOver, to: str, now: query.Picture) -> list[str]:
    assert one.left.before is not None
    token = one.left.before.token
    if one.moved is None:
        return [f"to be handed over to {to}: #{token}   {names_of(gone(one.left))}"]
    until = render.clock_time(one.moved.certain_end, now.now)
    return [
        f"handed   #{token} to {to} as #{one.moved.token}   {names_of(gone(one.left))}",
        f"         {to} has it till {until}, and as long as usual once it shows a sign of life",
    ]
