"""The `git-coord` entry point."""

from __future__ import annotations

import gc
import os
import sys
from typing import NoReturn

HASTY = frozenset(
    ("break", "check", "claim", "log", "post", "posts", "preflight", "presence", "release", "renew", "status", "sync")
)
"""Commands that look at the repository whatever their arguments say: git is asked while Python imports them."""


def main() -> NoReturn:
    """Run the command line.

    Of a command of a tenth of a second, collecting garbage took 4 ms and taking the interpreter apart 13: a process
    that ends has neither to do. What matters is closed, flushed and synced where it is written.
    """
    if is_hasty := sys.argv[1:2] != [] and sys.argv[1] in HASTY and not {"-h", "--help"} & set(sys.argv):
        gc.disable()
        from git_coord.store import ahead

        ahead.begin(os.environ)
    from git_coord.cli.main import run

    if is_hasty:
        ahead.go_on(os.environ)
    status = run(sys.argv[1:])
    sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    main()
