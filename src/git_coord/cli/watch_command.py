"""`git coord watch`: events as they happen."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Iterator
from types import FrameType
from urllib.parse import urlsplit

import click

from git_coord.app import App
from git_coord.app.patience import is_near
from git_coord.errors import CoordError, Kind
from git_coord.service.cursor import Cursor, decode
from git_coord.watch.loop import Plan, Watch
from git_coord.watch.pulse import Pulse
from git_coord.watch.sinks import Command, Lines, Sink, Webhook

from . import options, render
from .output import Output

INTERVAL = 10
"""Seconds between fetches: hosts advise about six requests a minute."""
CURSOR_LIMIT = 1 << 20


class _TerminatedError(BaseException):
    """SIGTERM: end as if the time were over."""


@click.command("watch", context_settings=options.HELP)
@click.option("--since", metavar="CURSOR", help="Begin after this cursor (or ledger position), not at what is now.")
@click.option(
    "--cursor-file", type=click.Path(dir_okay=False), metavar="FILE", help="Keep the cursor there, and go on from it."
)
@click.option("--exec", "line", metavar="CMD", help="Run this for each event, its JSON on standard input.")
@click.option("--webhook", metavar="URL", help="POST each event there, at least once.")
@click.option(
    "--interval", callback=options.duration, metavar="DUR", help="How often the remote is asked; 10s, the least."
)
@click.option("--timeout", callback=options.duration, metavar="DUR", help="End after this long.")
@click.option("--once", "is_once", is_flag=True, help="Report what is new and end.")
@click.option(
    "--beat-for",
    "pid",
    type=click.IntRange(1, 2**31 - 1),
    metavar="PID",
    help="Be the agent's sign of life until PID ends.",
)
@options.common
def command(
    since: str | None,
    cursor_file: str | None,
    line: str | None,
    webhook: str | None,
    interval: int | None,
    timeout: int | None,
    is_once: bool,
    pid: int | None,
    as_json: bool,
    agent: str | None,
) -> int:
    """Stream what happens: to claims and those who wait for them, blocked tasks, presence, posts.

    One line an event, with --json one object. What happens in this clone shows at once, the rest when the remote is
    asked. Each event has an id that stays the same when it is reported again; --exec also gets it as
    GIT_COORD_EVENT_ID, with GIT_COORD_EVENT_KIND.

    A watch keeps no claim alive unless it is told for how long: --beat-for $PPID, the program that works as this agent.
    """
    if is_once and pid is not None:
        raise CoordError(Kind.USAGE, "--once ends at once, and beats for nobody: take --beat-for or --once")
    app, output = options.means(as_json, agent, tells=False, long_lived=not is_once)
    plan = Plan(_interval(app, interval), timeout, is_once)
    cursor = _cursor(since, cursor_file)
    sinks = _sinks(app, output, line, webhook)
    pulse = None if pid is None else Pulse(app, pid)
    with _until_terminated():
        Watch(app, plan, sinks, _keeper(cursor_file), pulse).run(cursor)
    return 0


def _interval(app: App, asked: int | None) -> float:
    if asked is not None and asked < INTERVAL and not is_near(app.config, app.remote_name):
        raise CoordError(Kind.USAGE, f"--interval is {asked} s; hosts advise at least {INTERVAL} s between requests")
    return float(asked or INTERVAL)


def _cursor(since: str | None, cursor_file: str | None) -> Cursor | None:
    if since is not None or cursor_file is None:
        return None if since is None else decode(since)
    try:
        with open(cursor_file, encoding="ascii", errors="replace") as file:
            return decode(file.read(CURSOR_LIMIT))
    except FileNotFoundError:
        return None


def _keeper(path: str | None) -> Callable[[str], None]:
    def keep(word: str) -> None:
        if path is not None:
            scratch = f"{path}.{os.getpid()}.tmp"
            with open(scratch, "w", encoding="ascii") as file:
                file.write(f"{word}\n")
            os.replace(scratch, path)

    return keep


def _sinks(app: App, output: Output, line: str | None, webhook: str | None) -> list[Sink]:
    clock = app.coord.clock
    sinks: list[Sink] = [Lines(is_json=output.is_json, local_time=lambda stamp: render.clock_time(stamp, clock.now()))]
    if line is not None:
        sinks.append(Command(line, os.environ, app.coord.notice))
    if webhook is not None:
        if urlsplit(webhook).scheme not in ("http", "https"):
            raise CoordError(Kind.USAGE, "--webhook takes an http or https address")
        sinks.append(Webhook(webhook, clock, app.coord.jitter, app.coord.notice))
    return sinks


@contextlib.contextmanager
def _until_terminated() -> Iterator[None]:
    """Let SIGTERM end the body from wherever it is; the event being handed on is then reported again next time."""

    def end(_signal: int, _frame: FrameType | None) -> None:
        raise _TerminatedError

    before = signal.signal(signal.SIGTERM, end)
    try:
        with contextlib.suppress(_TerminatedError):
            yield
    finally:
        signal.signal(signal.SIGTERM, before)
