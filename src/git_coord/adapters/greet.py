"""What a session is told at its start, and how its shells learn who they are."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from shlex import quote

from git_coord.app import App
from git_coord.domain.items import file_item, show_name
from git_coord.domain.text import escape_for_display
from git_coord.errors import CoordError
from git_coord.service.members.read_only import limits
from git_coord.service.preflight import look_around
from git_coord.service.query import picture
from git_coord.service.remote_ledger import ROSTER_FAMILIES
from git_coord.service.sync import freshen

from .words import clock_time

SHOWN = 5


def tell_shells(app: App, env_file: str | None) -> None:
    """Let the session's shells act as its agent, where the tool reads a file of exports for them."""
    if not env_file:
        return
    me = app.coord.me
    lines = f"export GIT_COORD_AGENT={quote(me.agent)}\nexport GIT_COORD_SESSION={quote(me.session)}\n"
    with suppress(OSError), open(env_file, "a") as file:
        file.write(lines)


def paragraph(app: App, auto: str, notes: Sequence[str]) -> str:
    """Return what the session should know, in a few short lines."""
    age = ""
    try:
        freshen(app.coord, is_local=False, families=ROSTER_FAMILIES)
    except CoordError as trouble:
        age = f" The remote gives no answer ({escape_for_display(trouble.message)}), so this may be old."
    app.refresh_snapshot()
    me = app.coord.me.agent
    dirty = [file_item(name) for name in app.worktree.uncommitted(["."])]
    found = look_around(app.coord, [], dirty)
    lines = [f"git coord: you are {me} in this repository.{age}", *_held(app)]
    lines += [escape_for_display(f"careful: {reason.text}") for reason in found.reasons[:SHOWN]]
    if limits(app.coord.files):
        return "\n".join([*lines, *told(app), *[escape_for_display(f"git coord: {note}") for note in notes]])
    how = "is claimed for you" if auto != "off" else "must be claimed by you (git coord claim PATH -m WHY)"
    lines.append(
        f"What you edit {how}; a refusal names the holder: wait, try at most three times, then do something else and "
        "say so. Before larger work: git coord preflight PATHS."
    )
    return "\n".join([*lines, *[escape_for_display(f"git coord: {note}") for note in notes]])


def told(app: App) -> list[str]:
    """Return what a session of a read-only clone should know."""
    why = limits(app.coord.files)
    return [f"git coord: read-only here: {why}. What others hold is refused; nothing is claimed"] if why else []


def _held(app: App) -> list[str]:
    now = picture(app.coord)
    others = [claim for claim in now.state.claims.values() if claim.holder != app.coord.me.agent]
    lines = []
    for claim in sorted(others, key=lambda claim: claim.token)[:SHOWN]:
        items = [show_name(item.kind, item.name) for _, item in claim.live()]
        more = f" and {len(items) - 3} more" if len(items) > 3 else ""
        names = escape_for_display(", ".join(items[:3]))
        purpose = f' "{escape_for_display(claim.purpose[:80])}"' if claim.purpose else ""
        until = clock_time(now.held(claim).lease_until, now.now)
        lines.append(f"  {claim.holder} holds {names}{more} until {until}{purpose}")
    return [*lines, *([f"  and {len(others) - SHOWN} more claims: git coord status"] if len(others) > SHOWN else [])]
