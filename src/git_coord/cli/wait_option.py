"""`--wait`, which may stand alone: what follows it is its duration only if it is one."""

from __future__ import annotations

import click

DEFAULT = "10m"


class WaitingCommand(click.Command):
    """A command that has a `--wait`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Spell a `--wait` that stands alone as one with a duration."""
        end = args.index("--") if "--" in args else len(args)
        alone = [i for i in range(end) if args[i] == "--wait" and not _is_duration(args[i + 1 : i + 2])]
        return super().parse_args(ctx, [f"--wait={DEFAULT}" if i in alone else word for i, word in enumerate(args)])


def _is_duration(words: list[str]) -> bool:
    from git_coord.domain.durations import parse_duration

    try:
        return bool(words) and parse_duration(words[0]) > 0
    except ValueError:
        return False
