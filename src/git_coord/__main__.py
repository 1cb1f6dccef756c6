"""The `git-coord` entry point."""

from __future__ import annotations


def main() -> None:
    """Run the command line."""
    from git_coord.cli.main import run

    run()


if __name__ == "__main__":
    main()
