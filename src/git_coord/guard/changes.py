"""Which paths a commit in the making touches, against what, as its hook can see it."""

import os

from .git import EMPTY_TREES, GitFailed, Process, read_file

_VALUED = ("-c", "-C", "--git-dir", "--work-tree", "--namespace", "--super-prefix", "--config-env", "--exec-path")
"""Options of git itself that may take the next argument as their value."""
_RAW = ("diff-index", "--cached", "--raw", "-z", "--no-renames", "--ignore-submodules=none", "--ita-invisible-in-index")


class Changes:
    """What is compared with the index: HEAD; for an amend its parents; in a merge HEAD and the merged heads."""

    __slots__ = ("_first", "_head", "brought", "kind", "parents")

    def __init__(self, hook: str, args: list[str], git_dir: str) -> None:
        """Start what will be needed in any case."""
        merged = _merged_heads(hook, git_dir)
        amends = False if merged else _amends(hook, args)
        self.kind = "merge" if merged else "commit"
        """One of commit, amend, merge, first (there is no HEAD yet)."""
        self.parents = ["HEAD", *merged]
        self.brought: set[bytes] = set()
        """Paths that a merge has as some of its parents have them: brought in as they were, or given up."""
        self._head = None if amends is False else _Head(must_amend=amends is True)
        self._first = None if amends else _diff("HEAD")

    def paths(self) -> list[bytes]:
        """Return the touched paths, each once, then what a merge brought in or gave up; raises GitFailed."""
        results = self._results()
        if self.kind == "commit" and results[0][0] and _is_unborn():
            self.kind, self.parents = "first", []
        if not self.parents:
            return _from_nothing()
        for status, _ in results:
            if status:
                raise GitFailed([*_RAW, *self.parents], status)
        touched = [_names(out) for _, out in results]
        if len(touched) == 1:
            return touched[0]
        common = set(touched[0]).intersection(*touched[1:])
        self.brought = set().union(*touched) - common
        return [*(path for path in touched[0] if path in common), *sorted(self.brought)]

    def _results(self) -> list[tuple[int, bytes]]:
        first = self._first
        replaced = self._head.replaced_parents() if self._head else None
        if replaced is not None:
            self.kind, self.parents = "amend", replaced
            if first:
                first.finish()
                first = None
        begun = [first] if first else []
        processes = [*begun, *[_diff(parent) for parent in self.parents[len(begun) :]]]
        return [process.finish() for process in processes]


class _Head:
    """HEAD's own commit object, read because the commit in the making may replace it."""

    __slots__ = ("_must_amend", "_process")

    def __init__(self, *, must_amend: bool) -> None:
        self._must_amend = must_amend
        self._process = Process("--no-replace-objects", "cat-file", "commit", "HEAD")

    def replaced_parents(self) -> list[str] | None:
        """Return the parents of the commit that an amend replaces, None for any other commit.

        An amend takes over HEAD's author date, and git exports it; so do `-C HEAD` and, by chance, the same second.
        """
        status, data = self._process.finish()
        if status:
            return None
        header = data.partition(b"\n\n")[0].split(b"\n")
        date = next((line.rpartition(b"> ")[2] for line in header if line.startswith(b"author ")), b"")
        exported = os.environ.get("GIT_AUTHOR_DATE", "").removeprefix("@")
        if not self._must_amend and exported.encode(errors="surrogateescape") != date:
            return None
        return [line[7:].decode("ascii") for line in header if line.startswith(b"parent ")]


def _merged_heads(hook: str, git_dir: str) -> list[str]:
    """Return the other parents of a merge in progress; in pre-merge-commit git names them in the environment only."""
    if hook == "pre-merge-commit":
        return [name[8:] for name in os.environ if name.startswith("GITHEAD_") and name[8:].isalnum()]
    return (read_file(git_dir, "MERGE_HEAD") or b"").decode("ascii", "replace").split()


def _amends(hook: str, args: list[str]) -> bool | None:
    """Tell whether the commit replaces HEAD; None when that is for HEAD's author date to decide."""
    if hook == "prepare-commit-msg":
        return args[1:3] == ["commit", "HEAD"]
    if hook == "pre-merge-commit":
        return False
    if "GIT_AUTHOR_DATE" not in os.environ:
        return False  # git always exports it: what runs us is no commit
    # Two commits within a second have the same date, so git's own command line is asked first, where it can be read.
    return amends_by_command_line(os.getppid())


def amends_by_command_line(pid: int) -> bool | None:
    """Tell from the nearest `git commit` among this process and its ancestors; None when there is none to be seen."""
    for _ in range(8):
        said = _says_amend(read_file(f"/proc/{pid}/cmdline") or b"")
        if said is not None:
            return said
        status = read_file(f"/proc/{pid}/status") or b""
        pid = int(status.partition(b"\nPPid:")[2].split(b"\n")[0] or 0)
        if pid <= 1:
            break
    return None


def _says_amend(command_line: bytes) -> bool | None:
    """Tell whether a command line is `git commit` with or without `--amend`, None when it is something else."""
    words = [os.fsdecode(word) for word in command_line.split(b"\0")]
    if os.path.basename(words[0]) != "git":
        return None
    rest = iter(words[1:])
    for word in rest:
        if word in _VALUED:
            next(rest, None)
        elif not word.startswith("-"):
            return _has_amend(list(rest)) if word == "commit" else None
    return None


def _has_amend(words: list[str]) -> bool:
    options = words[: words.index("--")] if "--" in words else words
    # Git takes every unambiguous beginning of an option's name. `-m --amend` is a message, and counts as an amend: the
    # author date cannot be asked any more then, and judging more paths is the safe mistake.
    return any(len(word) > 3 and "--amend".startswith(word) for word in options)


def _diff(against: str) -> Process:
    return Process("--no-replace-objects", *_RAW, against)


def _is_unborn() -> bool:
    """Tell whether HEAD stands for no commit at all, rather than for one that cannot be read."""
    return Process("rev-parse", "-q", "--verify", "HEAD").finish() == (1, b"")


def _from_nothing() -> list[bytes]:
    """Return all paths of the index: what a commit without a parent touches."""
    for tree in EMPTY_TREES:
        status, out = _diff(tree).finish()
        if status == 0:
            return _names(out)
    raise GitFailed([*_RAW, *EMPTY_TREES], status)


def _names(raw: bytes) -> list[bytes]:
    """Return the paths of raw output: without renames each entry is its description, NUL, one path, NUL."""
    return raw.split(b"\0")[1::2]
