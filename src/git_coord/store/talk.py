"""Two git processes that stay: one that reads objects, one that moves refs. Not for two threads at once."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence

from git_coord.domain.ids import Oid
from git_coord.domain.merkle import GitObject
from git_coord.errors import CoordError, Kind
from git_coord.lean import NamedTuple
from git_coord.process import Process

from .git import Git, first_words
from .interface import ABSENT, RefUpdate
from .slots import Slots

CAT_FILE = ("cat-file", "--batch-command", "--buffer")
UPDATE_REF = ("-c", "core.logAllRefUpdates=false", "update-ref", "--stdin", "-z")
_USAGE = 129
"""What git exits with when it does not know an option."""


class Info(NamedTuple):
    """An object without its content."""

    oid: Oid
    type: str
    size: int


class Conversation:
    """A git process started when first needed, and again after it ended or after a fork."""

    def __init__(self, git: Git, args: Sequence[str], keep: Callable[[], int | None] = lambda: None) -> None:
        """Remember what to run; `keep` names a descriptor that the process is to have too."""
        self._git = git
        self._keep = keep
        self._args = args
        self._process: Process | None = None

    def process(self) -> Process:
        """Return the running process."""
        if self._process is not None and self._process.owner != os.getpid():
            # Inherited by a fork: the parent is talking on these pipes.
            self._process.forget()
            self._process = None
        if self._process is None or self._process.code is not None:
            self._process = self._git.taken(self._args, self._keep())
        return self._process

    def ended(self) -> tuple[int, str]:
        """Return exit code and words of a process that stopped answering; the next one is a new one."""
        process, self._process = self._process, None
        return (0, "") if process is None else (process.finish(), first_words(bytes(process.err)))

    def close(self) -> None:
        """End the process, if there is one of ours."""
        if self._process is not None and self._process.owner == os.getpid():
            self._process.finish()
        self._process = None


class CatFile:
    """`git cat-file`: one process with git 2.36 or newer, one for sizes and one for contents before that."""

    def __init__(self, git: Git) -> None:
        """Start nothing yet."""
        self._command: Conversation | None = Conversation(git, CAT_FILE)
        self._check = Conversation(git, ["cat-file", "--batch-check"])
        self._batch = Conversation(git, ["cat-file", "--batch"])

    def warm(self) -> None:
        """Start the process ahead."""
        if self._command is not None:
            self._command.process()

    def info(self, specs: Sequence[str]) -> list[Info | None]:
        """Return id, type and size of what each spec names; None where there is nothing."""
        return [None if answer is None else answer[0] for answer in self._ask("info", specs)]

    def contents(self, specs: Sequence[str]) -> list[GitObject | None]:
        """Return the object each spec names; None where there is none."""
        answers = self._ask("contents", specs)
        return [None if answer is None else GitObject(answer[0].oid, answer[0].type, answer[1]) for answer in answers]

    def close(self) -> None:
        """End what was started."""
        for conversation in (self._command, self._check, self._batch):
            if conversation is not None:
                conversation.close()

    def _ask(self, command: str, specs: Sequence[str]) -> list[tuple[Info, bytes] | None]:
        if not specs:
            return []
        if self._command is not None:
            try:
                return self._talk(self._command, command, specs, tail=b"flush\n")
            except EOFError:
                code, words = self._command.ended()
                if code != _USAGE:
                    raise _unreadable(words) from None
                self._command = None
        older = self._batch if command == "contents" else self._check
        try:
            return self._talk(older, command, specs)
        except EOFError:
            raise _unreadable(older.ended()[1]) from None

    def _talk(
        self, conversation: Conversation, command: str, specs: Sequence[str], tail: bytes = b""
    ) -> list[tuple[Info, bytes] | None]:
        # A name with a newline would be two requests; no object of ours has one.
        asked = [spec for spec in specs if "\n" not in spec and "\0" not in spec]
        lead = f"{command} " if tail else ""
        process = conversation.process()
        process.send(os.fsencode("".join(f"{lead}{spec}\n" for spec in asked)) + tail)
        answers = iter([_answer(process, with_data=command == "contents") for _ in asked])
        return [None if "\n" in spec or "\0" in spec else next(answers) for spec in specs]


def _answer(process: Process, *, with_data: bool) -> tuple[Info, bytes] | None:
    words = process.line().split(b" ")
    # Otherwise `<spec> missing`, `<spec> ambiguous`, `<oid> submodule`.
    if len(words) != 3 or not words[2].isdigit():
        return None
    info = Info(Oid(words[0].decode("ascii")), words[1].decode("ascii"), int(words[2]))
    return info, process.take(info.size + 1)[:-1] if with_data else b""


def _unreadable(words: str) -> CoordError:
    return CoordError(Kind.ERROR, f"git cannot read an object: {words}")


class UpdateRef:
    """`git update-ref --stdin`, a transaction at a time, never a reflog."""

    def __init__(self, git: Git, zero: str, slots: Slots | None) -> None:
        """Start nothing yet; `zero` is the id of nothing in this repository's hash."""
        self._zero = zero
        self._slots = slots
        self._conversation = Conversation(git, UPDATE_REF, (lambda: None) if slots is None else slots.held)
        self.words = ""
        """What git said of the last transaction that failed: for people only."""

    def warm(self) -> None:
        """Start the process ahead."""
        self._conversation.process()

    def move(self, updates: Iterable[RefUpdate]) -> bool:
        """Move all refs or none; False when git would not, whatever the reason."""
        moves = list(updates)
        commands = ["start", *(self._command(update) for update in moves), "prepare", "commit"]
        process = self._conversation.process()
        if self._slots is not None:
            self._slots.note(moves)
        # Sent whole: however we end, git either has the commit or aborts at the end of its input.
        process.send(("\0".join(commands) + "\0").encode("ascii"))
        try:
            moved = [process.line() for _ in range(3)] == [b"start: ok", b"prepare: ok", b"commit: ok"]
        except EOFError:
            code, self.words = self._conversation.ended()
            moved = False
            if code < 0 and self._slots is not None:
                self._slots.heal_own()
        if self._slots is not None:
            self._slots.clear()
        return moved

    def heal(self) -> bool:
        """Remove the ref locks of killed processes of ours; tell whether there were any."""
        return self._slots is not None and self._slots.heal()

    def close(self) -> None:
        """End what was started."""
        self._conversation.close()

    def _command(self, update: RefUpdate) -> str:
        ref, new, old = update
        if new == old:
            return f"verify {ref}\0{self._zero if old is ABSENT else old}"
        if old is ABSENT:
            return f"create {ref}\0{new}"
        if new is ABSENT:
            return f"delete {ref}\0{old}"
        return f"update {ref}\0{new}\0{old}"
