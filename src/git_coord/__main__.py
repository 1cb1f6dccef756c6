"""The `git-coord` entry point."""

from __future__ import annotations

import gc
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:  # importing typing takes as long as a hook of an editing agent may
    from typing import NoReturn

    from git_coord.guard.edit import Answer

HASTY = frozenset(
    ("break", "check", "claim", "log", "post", "posts", "preflight", "presence", "release", "renew", "status", "sync")
)
"""Commands that look at the repository whatever their arguments say: git is asked while Python imports them."""


def main() -> NoReturn:
    """Run the command line.

    Of a command of a tenth of a second, collecting garbage took 4 ms and taking the interpreter apart 13: a process
    that ends has neither to do. What matters is closed, flushed and synced where it is written.
    """
    if len(sys.argv) == 4 and sys.argv[1] == "hook":
        _edit_hook(sys.argv[2], sys.argv[3])
    if is_hasty := sys.argv[1:2] != [] and sys.argv[1] in HASTY and not {"-h", "--help"} & set(sys.argv):
        gc.disable()
        from git_coord.store import ahead

        ahead.begin(os.environ)
    from git_coord.cli.main import run
    from git_coord.interrupts import interruptible

    if is_hasty:
        ahead.go_on(os.environ)
    interruptible()
    status = run(sys.argv[1:])
    sys.stderr.flush()
    os._exit(status)


def _edit_hook(tool: str, event: str) -> None:
    """Answer a coding agent's tool and leave; come back when the words name no such hook.

    The status is 0 whatever happens: any other one is an answer to some tool, and only its own form of "no" may be.
    """
    from git_coord.guard.edit_calls import EVENTS, TOOLS

    if tool not in TOOLS or event not in EVENTS:
        return
    gc.disable()
    from git_coord.guard import edit, edit_view

    data = b""
    try:
        data = edit.read_all()
        if event == "pre-edit":
            edit_view.meanwhile.append(_load_full_program)
        answer = edit.quick(tool, event, data)
        if answer is None:
            answer = _decided(tool, event, data)
    except Exception as trouble:  # a hook never crashes: this one could not even begin
        answer = edit.not_understood(tool, event, f"{type(trouble).__name__}: {trouble}")
    sys.stderr.write(answer.err)
    sys.stderr.flush()
    sys.stdout.write(answer.out)
    sys.stdout.flush()
    os._exit(0)


def _decided(tool: str, event: str, data: bytes) -> Answer:
    """Let the full program answer; before an edit in one repository git is asked while Python imports it."""
    from git_coord.guard import edit, edit_view

    if event == "pre-edit" and len(edit.tops) == 1 and edit_view.meanwhile:
        edit_view.meanwhile.pop()()
    from git_coord.adapters.events import decide

    return decide(tool, event, data)


def _load_full_program() -> None:
    """Start the processes that it begins with, in the one repository there is, and import it meanwhile."""
    from git_coord.guard import edit
    from git_coord.store import ahead

    os.chdir(edit.tops[0])
    ahead.begin(os.environ)
    import git_coord.adapters.before  # noqa: F401

    ahead.go_on(os.environ)


if __name__ == "__main__":
    main()
