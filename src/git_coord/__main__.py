"""The `git-coord` entry point."""

from __future__ import annotations

import os
import sys

HASTY = frozenset(("break", "check", "claim", "log", "post", "posts", "presence", "release", "renew", "status", "sync"))
"""Commands that look at the repository whatever their arguments say: git is asked while Python imports them."""


def main() -> None:
    """Run the command line."""
    if sys.argv[1:2] and sys.argv[1] in HASTY and not {"-h", "--help"} & set(sys.argv):
        from git_coord.store.ahead import begin

        begin(os.environ)
    from git_coord.cli.main import run

    run()


if __name__ == "__main__":
    main()
