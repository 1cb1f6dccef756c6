"""Options that mean the same everywhere, also before a subcommand; and groups that suggest the command meant."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

HELP: dict[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
"""Settings of every command: git keeps `--help` for itself, so `-h` is the one that works."""


def _inherited(ctx: click.Context, param: click.Parameter, value: Any) -> Any:
    """Click callback: what was said before the subcommand counts unless the subcommand says otherwise."""
    key = f"git-coord {param.name}"
    if value not in (None, False):
        ctx.meta[key] = value
    return ctx.meta.get(key, value)


def _common(command: F, **more: Any) -> F:
    as_json = click.option(
        "--json", "as_json", is_flag=True, callback=_inherited, help="Print one JSON object.", **more
    )
    agent = click.option("--agent", metavar="NAME", callback=_inherited, help="Act as this agent.", **more)
    return agent(as_json(command))


def common(command: F) -> F:
    """Add the options every command has."""
    return _common(command)


def for_group(command: F) -> F:
    """Accept them before a subcommand too, for which they then count."""
    return _common(command, expose_value=False)


class NoSuchCommandError(click.UsageError):
    """An unknown command; `meant` is the nearest one there is."""

    def __init__(self, name: str, meant: str | None, ctx: click.Context) -> None:
        """Put it in words."""
        super().__init__(f"no command {name!r}" + (f"; did you mean {meant!r}?" if meant else ""), ctx)
        self.meant = meant


class Group(click.Group):
    """A group of commands that names the nearest command when there is none of that name."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command of a line; raises NoSuchCommandError."""
        if not ctx.resilient_parsing and args[0] not in self.known_commands() and not args[0].startswith("-"):
            from difflib import get_close_matches

            near = get_close_matches(args[0], self.list_commands(ctx), n=1)
            raise NoSuchCommandError(args[0], near[0] if near else None, ctx)
        return super().resolve_command(ctx, args)

    def known_commands(self) -> list[str]:
        """Return every name that can be called, hidden ones too."""
        return list(self.commands)
