"""Options that mean the same on every command, and how a command gets its means."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

import click

from git_coord.app import App, open_app
from git_coord.errors import CoordError, Kind
from git_coord.service.beat import note_beat

from .output import Output

F = TypeVar("F", bound=Callable[..., Any])

HELP: dict[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
"""Settings of every command: git keeps `--help` for itself, so `-h` is the one that works."""

as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
agent = click.option("--agent", metavar="NAME", help="Act as this agent.")
offline = click.option("--offline", is_flag=True, help="Do without the remote: hold here only, until a sync confirms.")
local = click.option("--local", "is_local", is_flag=True, help="Answer from the local picture, however old it is.")


def common(command: F) -> F:
    """Add the options every command has."""
    return agent(as_json(command))


def means(as_json: bool, agent: str | None, *, offline: bool = False) -> tuple[App, Output]:
    """Open the repository around the current directory for one command."""
    output = Output(is_json=as_json)
    notice = _noticer(output)
    app = open_app(os.getcwd(), os.environ, agent=agent, offline=offline, notice=notice)
    if app.config.get("coord.repo") is not None:
        note_beat(app.coord)
    return app, output


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
        raise CoordError(Kind.USAGE, f"--{param.name} is {value!r}, not a duration like 90s, 30m or 2h") from None


def clean_line(_ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Click callback: one line of free text, as a record can hold it."""
    from git_coord.domain.text import is_clean_line

    if value is not None and not is_clean_line(value):
        raise CoordError(
            Kind.USAGE, f"{param.opts[0]} must be one line of at most 500 characters without control characters"
        )
    return value
