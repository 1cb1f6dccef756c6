"""The command line: a group that imports only the command it runs, and the one boundary from errors to words."""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from git_coord import __version__
from git_coord.errors import CoordError, Kind

from .output import Output
from .shared import HELP, Group, NoSuchCommandError, for_group

COMMANDS = {
    "init": "begin or join the ledger of this repository",
    "deinit": "remove everything of git coord from this clone",
    "whoami": "show agent, session, key, repository and remote",
    "policy": "show or change who may join, break and change policy",
    "move": "move the ledger of the whole team to another place",
    "claim": "claim paths or tasks, all or none",
    "release": "give claims back, whole or in part",
    "renew": "renew leases and pins",
    "takeover": "take over the claims of a holder who is gone",
    "break": "free somebody's claims, with a policy key",
    "expel": "put a member out, with a policy key",
    "revoke": "end a stolen key and whoever has it",
    "block": "keep everybody from claiming tasks",
    "unblock": "let tasks be claimed again",
    "preflight": "look around before work: go, wait, or ask",
    "check": "say who holds something: free, mine, held, stale, blocked",
    "status": "show agents, claims and posts",
    "log": "show what the ledger placed",
    "run": "run a command that holds claims while it lives",
    "rejoin": "go on here as this agent, and hear what became of its claims",
    "rotate": "replace the agent's key",
    "presence": "show who is here, or set how one is",
    "post": "write to the postboard, update or remove a post",
    "posts": "show the postboard",
    "watch": "stream what happens: claims, presence, posts",
    "mcp": "serve coding agents: the commands as MCP tools",
    "sync": "exchange with the remote",
    "verify": "judge commits against the claims of their time",
    "adapter": "let coding agents ask before they edit",
    "hooks": "install, uninstall or show the git hooks",
    "gc": "begin a new epoch of a long ledger, drop leftovers",
    "doctor": "report what is wrong here, and repair it",
    "hook": "what the installed hooks call",
}
HIDDEN = ("hook",)


class Commands(Group):
    """Loads `cli/<name>.py` only when its command runs: a cold start is the cost of a command."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of the table."""
        return [name for name in COMMANDS if name not in HIDDEN]

    def known_commands(self) -> list[str]:
        """Return all names of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the module of a command and return its `command`."""
        if cmd_name not in COMMANDS:
            return None
        from importlib import import_module

        module = import_module(f"git_coord.cli.{cmd_name}_command")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands from the table, without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name]) for name in self.list_commands(ctx)])


@click.command(cls=Commands, context_settings=HELP)
@for_group
@click.version_option(__version__, "-V", "--version", prog_name="git-coord")
def root() -> None:
    """Who is working on what in this repository, and may I touch this file?"""  # noqa: D400 - the question is the name


def run(arguments: list[str]) -> int:
    """Run a command line; returns the exit status of section 10 of the design, with everything printed."""
    output = Output(is_json="--json" in _options(arguments))
    status = ask(arguments, output)
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        return _without_reader()
    output.told(True)
    return status


def _options(arguments: list[str]) -> list[str]:
    return arguments[: arguments.index("--")] if "--" in arguments else arguments


def ask(arguments: list[str], output: Output) -> int:
    """Run a command line, whose answer goes to `output`; returns the exit status."""
    try:
        result: Any = root.main(args=arguments, prog_name="git coord", standalone_mode=False, obj=output)
    except CoordError as trouble:
        return output.error(trouble, otherwise=_help_for(trouble, arguments))
    except click.exceptions.Exit as left:
        return left.exit_code
    except click.exceptions.NoArgsIsHelpError as trouble:
        output.talk(trouble.format_message())
        return Kind.USAGE.exit_status
    except click.ClickException as trouble:
        return output.error(_usage(trouble))
    except (click.Abort, KeyboardInterrupt) as trouble:
        from git_coord.interrupts import exit_status

        output.talk("git coord: interrupted")
        return exit_status(trouble)
    except BrokenPipeError:
        return _without_reader()
    except OSError as trouble:
        where = f": {trouble.filename}" if trouble.filename else ""
        return output.error(CoordError(Kind.ERROR, f"{trouble.strerror or trouble}{where}"))
    return result if isinstance(result, int) else 0


def _without_reader() -> int:
    """Drop what is left to print, so that Python does not complain about it at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return Kind.ERROR.exit_status


def _help_for(trouble: CoordError, arguments: list[str]) -> str | None:
    """Return the help of the command that was used wrongly."""
    if trouble.kind is not Kind.USAGE:
        return None
    name = next((argument for argument in arguments if argument in COMMANDS and argument not in HIDDEN), None)
    return f"git coord {name} -h" if name else "git coord -h"


def _usage(trouble: click.ClickException) -> CoordError:
    context = getattr(trouble, "ctx", None)
    path = context.command_path if context else "git coord"
    if isinstance(trouble, NoSuchCommandError) and trouble.meant:
        path = f"{path} {trouble.meant}"
    # Choices come one a line, and an error has one line.
    message = " ".join(trouble.format_message().split())
    return CoordError(Kind.USAGE, message[:1].lower() + message[1:].removesuffix("."), next=f"{path} -h")
