"""`python -m git_coord.hooks NAME [--explain] ARGS...`: how the guard hands over, past the whole command line.

`beat AGENT` and `refresh` are no hooks: they are what commands and hooks start beside them when a sign of life is due,
or the picture is old.
"""

from __future__ import annotations

import sys

from git_coord.errors import CoordError
from git_coord.interrupts import exit_status, interruptible

from .run import run_hook


def main(argv: list[str]) -> int:
    """Run the hook; returns the exit status."""
    name, *args = argv
    if name == "beat":
        from .beat import run_beat

        return run_beat(args[0], asks="--ask" in args[1:])
    if name == "refresh":
        from .refresh import run_refresh

        return run_refresh()
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


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
