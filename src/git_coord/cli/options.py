"""Options that mean the same on every command, and how a command gets its means."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress

import click

from git_coord.app import App, open_app
from git_coord.domain.ids import is_agent
from git_coord.errors import CoordError, Kind
from git_coord.service.here import note_here
from git_coord.service.leases import alive
from git_coord.service.sessions import is_known_elsewhere

from .output import Output
from .shared import HELP, common

__all__ = ["HELP", "clean_line", "common", "duration", "here", "local", "means", "offline"]

offline = click.option("--offline", is_flag=True, help="Do without the remote: hold here only, until a sync confirms.")
local = click.option("--local", "is_local", is_flag=True, help="Answer from the local picture, however old it is.")


def means(
    as_json: bool, agent: str | None, *, offline: bool = False, tells: bool = True, long_lived: bool = False
) -> tuple[App, Output]:
    """Open the repository around the current directory for one command, which `tells` the agent of unread posts."""
    if agent is not None and not is_agent(agent):
        raise CoordError(
            Kind.USAGE,
            f"{agent!r} cannot be an agent's name: lower-case letters, digits, '.', '_' and '-', at most 63",
        )
    output = _output(as_json)
    notice = _noticer(output)
    if output.host is not None:
        app = output.host.open(agent, notice)
    else:
        app = open_app(here(), os.environ, agent=agent, offline=offline, notice=notice, long_lived=long_lived)
    app.coord.progress = output.progress
    if app.config.get("coord.repo") is not None:
        alive(app.coord)
        note_here(app.coord)
        _tell_news(app, output, _unread if tells else lambda _app: [])
        click.get_current_context().call_on_close(lambda: _afterwards(app, output))
    return app, output


def _tell_news(app: App, output: Output, unread: Callable[[App], list[str]]) -> None:
    """Let the answer carry what became of the agent's claims, and posts that it has not read.

    Both are `notices` in its object, also in that of an error; on stderr they come at the end, unless it was said.
    """
    found: list[list[str]] = []

    def posts() -> list[str]:
        if is_known_elsewhere(app.coord):
            return []  # it is for that session to hear
        if not found:
            _catch_up(app)
            found.append([*_beside(app), *unread(app)])
        return found[0]

    def talk() -> None:
        news = posts()
        for line in [*_lost(app), *news]:
            output.talk(f"git coord: {line}")

    context = click.get_current_context()
    for each in (output, context.obj):
        if isinstance(each, Output):
            each.notices = lambda: [*posts(), *_lost(app), *app.coord.learned]
            each.told = lambda is_heard: _told(app, is_heard=is_heard)
    context.call_on_close(talk)


def _beside(app: App) -> list[str]:
    """Return what processes beside the commands had to say."""
    from git_coord.service.leases import said_beside

    return said_beside(app.coord) if app.coord.identity is not None else []


def _lost(app: App) -> list[str]:
    """Return what whoever moved this clone's ledger noted as lost, and no command has said yet."""
    from git_coord.service.losses import FOLDER

    identity = app.coord.identity
    if identity is None or is_known_elsewhere(app.coord) or app.coord.files.read(f"{FOLDER}/{identity.agent}") is None:
        return []
    from git_coord.service.telling import lines

    return lines(app.coord)


def _told(app: App, *, is_heard: bool) -> None:
    if app.coord.telling is not None:
        from git_coord.service.telling import put_off, told

        (told if is_heard else put_off)(app.coord)


def require_here(app: App) -> None:
    """Raise CoordError(LOST) for an agent that is at work in another session: what it shows is said from there.

    A heartbeat from here would take the place of the one that keeps its claims alive. The ledger has been opened.
    """
    if app.coord.identity is not None and app.coord.actor is None:
        from git_coord.service.operations import in_use

        raise in_use(app.coord)


def nobody_here(app: App) -> str | None:
    """Return what there is to say where a name is given that is in use elsewhere; the ledger has been opened."""
    if app.coord.identity is None or app.coord.actor is not None:
        return None
    from git_coord.service.sessions import nobody

    found = nobody(app.coord)
    return found.notice if found is not None else None


def tell_nobody(app: App, output: Output) -> None:
    """Say that, beside the answer to a question."""
    if notice := nobody_here(app):
        output.talk(f"git coord: {notice}")


def _catch_up(app: App) -> None:
    from git_coord.service.leases import catch_up

    with suppress(CoordError, OSError):  # the next command looks again
        catch_up(app.coord)


def _unread(app: App) -> list[str]:
    from git_coord.service.unread_marks import news

    if app.coord.identity is None:
        return []
    found = _arrivals(app)
    if news(app.coord) is None:
        return found
    from git_coord.service.unread import tell  # only when there is something new: it reads the whole board

    return [*found, *tell(app.coord)]


def _arrivals(app: App) -> list[str]:
    """Return what is new in the ledger that this command has read anyway."""
    head = app.coord.head
    if head is None or not (head.state.waiting or any(claim.unattended for claim in head.state.claims.values())):
        return []
    from git_coord.service.arrivals import tell

    return tell(app.coord)


def _output(as_json: bool) -> Output:
    """Return where this command's answer goes: to the program that asks it in its own process, if one does."""
    given = click.get_current_context().find_root().obj
    return given if isinstance(given, Output) and given.host is not None else Output(is_json=as_json)


def _afterwards(app: App, output: Output) -> None:
    # What the command did stands; trouble with what comes after it is the next one's to say.
    with suppress(CoordError, OSError):
        if output.host is not None:
            output.host.after(app)
            return
        from git_coord.app.afterwards import afterwards

        afterwards(app)


def here() -> str:
    """Return the current directory; raises CoordError(ERROR) when it is gone."""
    try:
        return os.getcwd()
    except OSError:
        raise CoordError(Kind.ERROR, "the current directory does not exist any more", next="cd .") from None


def _noticer(output: Output) -> Callable[[str], None]:
    return lambda text: output.talk(f"git coord: {text}")


def duration(_ctx: click.Context, param: click.Parameter, value: str | None) -> int | None:
    """Click callback: `90s`, `30m`, `2h` to seconds."""
    from git_coord.domain.durations import parse_duration

    if value is None:
        return None
    try:
        return parse_duration(value)
    except ValueError:
        raise CoordError(Kind.USAGE, f"{param.opts[0]} is {value!r}, not a duration like 90s, 30m or 2h") from None


def duration_or_none(ctx: click.Context, param: click.Parameter, value: str | None) -> int | None:
    """Click callback: the same, and 0 (0s, 0m) for no time at all."""
    return 0 if value in ("0", "0s", "0m", "0h") else duration(ctx, param, value)


def clean_line(_ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Click callback: one line of free text, as a record can hold it."""
    from git_coord.domain.text import is_clean_line

    if value is not None and not is_clean_line(value):
        raise CoordError(
            Kind.USAGE, f"{param.opts[0]} must be one line of at most 500 characters without control characters"
        )
    return value
