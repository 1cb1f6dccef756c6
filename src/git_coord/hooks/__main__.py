"""`python -m git_coord.hooks NAME [--explain] ARGS...`: how the guard hands over, past the whole command line.

`beat AGENT`, `refresh` and `set-up` are no hooks: they are what commands and hooks start beside them when a sign of
life is due, the picture is old, or there is a new worktree.
"""

from __future__ import annotations

import sys

from git_coord.errors import CoordError
from git_coord.interrupts import exit_status, interruptible

from .run import run_hook


def main(argv: list[str]) -> int:
    """Run the hook; returns the exit status."""
    name, *args = argv
    if name in BESIDE:
        return BESIDE[name](args)
    explain = args[:1] == ["--explain"]
    interruptible()
    try:
        return run_hook(name, args[1:] if explain else args, explain=explain)
    except CoordError as trouble:
        sys.stderr.write(f"git coord: {trouble.message}\n")
        return trouble.kind.exit_status
    except KeyboardInterrupt as trouble:  # of a push, while its hook asks the remote
        sys.stderr.write("git coord: interrupted\n")
        return exit_status(trouble)


def _beat(args: list[str]) -> int:
    from .beat import run_beat

    return run_beat(args[0], asks="--ask" in args[1:])


def _refresh(_args: list[str]) -> int:
    from .refresh import run_refresh

    return run_refresh()


def _new_worktree(args: list[str]) -> int:
    from .new_worktree import is_new, welcome

    if is_new(args):
        welcome()
    return 0


def _set_up(_args: list[str]) -> int:
    from .new_worktree import run_set_up

    return run_set_up()


BESIDE = {"beat": _beat, "refresh": _refresh, "new-worktree": _new_worktree, "set-up": _set_up}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
