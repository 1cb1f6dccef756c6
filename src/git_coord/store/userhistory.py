"""The user's commits through two git processes for a whole range: `rev-list` for order, `diff-tree` for paths.

Raw plumbing with `-z`: nothing is quoted, and no configuration of the user's (renames, ignored submodules, mailmap)
changes what is seen. `-c` shows of a merge only what differs from all its parents; what it kept of one is asked apart.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

from git_coord.domain.carried import TreeEntry
from git_coord.domain.commits import Delta, Described, UserCommit, of_sides
from git_coord.domain.ids import Oid
from git_coord.errors import CoordError, Kind

from . import refnames
from .git import Git, first_words

if TYPE_CHECKING:
    from .merging import GitMerges

_DIFF = ("diff-tree", "--stdin", "-r", "-z", "-c", "--raw", "--root", "--always", "--no-abbrev", "--no-renames")
_TREES = ("--no-ext-diff", "--no-textconv", "--ignore-submodules=none")
_BRANCHES_AND_TAGS = ("--branches", "--tags", "--remotes", "HEAD")


class GitHistory:
    """The history of one repository; `remote` is the name of the remote whose default branch counts."""

    def __init__(self, git: Git, remote: str | None) -> None:
        """Prepare; nothing is run yet."""
        self._git = git
        self._remote = remote
        self._asked: Oid | None = None
        self._asked_name: str | None = None
        """The default branch as the remote named it, where this clone has no copy."""

    def commits(self, tips: Sequence[Oid], excluded: Sequence[Oid], remote: str | None = None) -> list[UserCommit]:
        """Return what is reachable from the tips and from nothing that is excluded, parents first."""
        if not tips:
            return []
        asked = "".join([*(f"{tip}\n" for tip in tips), *(f"^{oid}\n" for oid in excluded)]).encode("ascii")
        there = [] if remote is None else ["--not", f"--remotes={remote}"]
        line = ["rev-list", "--topo-order", "--reverse", "--parents", "--stdin", *there]
        rows = [row.split(" ") for row in self._git.run(line, asked).out.decode("ascii").splitlines()]
        return self._with_changes([(Oid(row[0]), tuple(map(Oid, row[1:]))) for row in rows])

    def named(self, oids: Sequence[Oid]) -> list[UserCommit]:
        """Return the commits among these ids that exist here, in order."""
        known = [oid for oid, found in zip(oids, self.resolve(oids), strict=True) if found == oid]
        if not known:
            return []
        asked = "".join(f"{oid}\n" for oid in known).encode("ascii")
        out = self._git.run(["rev-list", "--no-walk=unsorted", "--parents", "--stdin"], asked).out
        rows = [row.split(" ") for row in out.decode("ascii").splitlines()]
        return self._with_changes([(Oid(row[0]), tuple(map(Oid, row[1:]))) for row in rows])

    def resolve(self, names: Sequence[str]) -> list[Oid | None]:
        """Return the commit each name stands for, None for one that stands for none here."""
        asked = [name for name in names if "\n" not in name and "\0" not in name]
        if not asked:
            return [None] * len(names)
        given = "".join(f"{name}^{{commit}}\n" for name in asked).encode("utf-8", "surrogateescape")
        rows = self._git.run(["cat-file", "--batch-check=%(objectname) %(objecttype)"], given).out.splitlines()
        found = {name: _commit(row) for name, row in zip(asked, rows, strict=True)}
        return [found.get(name) for name in names]

    def unreachable(self, oids: Collection[Oid]) -> set[Oid]:
        """Return the commits that no branch, tag or HEAD of this clone contains any more."""
        known = {oid for oid in self.resolve(sorted(oids)) if oid is not None}
        if not known:
            return set()
        head = _BRANCHES_AND_TAGS if self.resolve(["HEAD"])[0] else _BRANCHES_AND_TAGS[:-1]
        asked = "".join(f"{oid}\n" for oid in sorted(known)).encode("ascii")
        out = self._git.run(["rev-list", "--stdin", "--not", *head], asked).out
        return known & set(map(Oid, out.decode("ascii").split()))

    def is_cut_off(self, commits: Sequence[UserCommit], base: Oid, tip: Oid) -> bool:
        """Tell whether this shallow clone ends inside the commits, or before the two meet."""
        shallow = self._shallow()
        if not shallow:
            return False
        if any(commit.oid in shallow for commit in commits):
            return True
        return self._git.run(["merge-base", base, tip], check=False).code != 0

    def _shallow(self) -> frozenset[Oid]:
        path = self._git.run(["rev-parse", "--git-path", "shallow"]).out.decode("utf-8", "surrogateescape")
        try:
            with open(os.path.join(self._git.cwd or "", path.removesuffix("\n")), encoding="ascii") as file:
                return frozenset(map(Oid, file.read().split()))
        except FileNotFoundError:
            return frozenset()

    def default_tip(self, timeout: float) -> Oid | None:
        """Return the default branch's tip: this clone's copy, else what the remote says."""
        if self._remote is None:
            return None
        here = self.resolve([refnames.default_branch(self._remote)])[0]
        if here is not None:
            return here
        line = ["ls-remote", "--symref", "--end-of-options", self._remote, "HEAD"]
        try:
            done = self._git.online().run(line, timeout=timeout, check=False)
        except CoordError as trouble:
            if trouble.kind is not Kind.UNKNOWN:
                raise
            raise CoordError(Kind.UNKNOWN, f"no answer from {self._remote} in {timeout:g} s") from None
        if done.code != 0:
            raise CoordError(Kind.UNKNOWN, f"{self._remote}: {first_words(done.err) or 'could not be asked'}")
        rows = [line.split() for line in done.out.decode("utf-8", "surrogateescape").splitlines()]
        names = [row[1] for row in rows if row[0] == "ref:" and row[1].startswith(refnames.BRANCHES)]
        tips = [row[0] for row in rows if row[0] != "ref:"]
        self._asked_name = f"{self._remote}/{names[0].removeprefix(refnames.BRANCHES)}" if names else None
        self._asked = Oid(tips[0]) if tips else None
        return self._asked

    def default_name(self) -> str | None:
        """Return what people call the remote's default branch here, as in `origin/main`, None for none."""
        if self._remote is None:
            return None
        line = ["rev-parse", "--abbrev-ref", "--verify", "--quiet", refnames.default_branch(self._remote)]
        known = self._git.run(line, check=False).out.decode("utf-8", "surrogateescape").strip()
        return known or self._asked_name

    def is_on_default(self, commit: Oid) -> bool:
        """Tell whether a commit is on the default branch, as far as this clone's copy of it knows."""
        tip = None if self._remote is None else self.resolve([refnames.default_branch(self._remote)])[0] or self._asked
        if tip is None or self.resolve([tip]) == [None]:
            return False
        return self._git.run(["merge-base", "--is-ancestor", commit, tip], check=False).code == 0

    def described(self, oids: Collection[Oid]) -> dict[Oid, Described]:
        """Return author and subject of commits that are here."""
        if not oids:
            return {}
        asked = "".join(f"{oid}\n" for oid in sorted(oids)).encode("ascii")
        line = ["log", "--no-walk=unsorted", "--stdin", "--no-show-signature", "--format=%H%x00%an%x00%s", "--no-patch"]
        rows = self._git.run(line, asked, check=False).out.decode("utf-8", "surrogateescape").splitlines()
        parts = [row.split("\0") for row in rows]
        return {Oid(oid): Described(author, subject) for oid, author, subject in parts}

    def merges(self) -> GitMerges:
        """Return git's own merges of what is here."""
        from .merging import GitMerges  # noqa: PLC0415 - only for what would else be a violation

        return GitMerges(self._git)

    def _with_changes(self, rows: Sequence[tuple[Oid, tuple[Oid, ...]]]) -> list[UserCommit]:
        asked = "".join(f"{oid}\n" for oid, _ in rows).encode("ascii")
        out = self._git.run([*_DIFF, *_TREES], asked).out if rows else b""
        changes = dict(parsed(out))
        kept = self._kept([(oid, parents) for oid, parents in rows if len(parents) > 1])
        return [UserCommit(oid, parents, tuple(changes.get(oid, ())), kept.get(oid, ())) for oid, parents in rows]

    def _kept(self, merges: Sequence[tuple[Oid, tuple[Oid, ...]]]) -> dict[Oid, tuple[Delta, ...]]:
        """Return what merges have as some of their parents have it, and others not."""
        asked = "".join(f"{oid} {parent}\n" for oid, parents in merges for parent in parents).encode("ascii")
        sides = parsed(self._git.run([*_DIFF, *_TREES], asked).out) if merges else iter(())
        found = {}
        for oid, parents in merges:
            changed = [{delta.path: delta for delta in next(sides)[1]} for _ in parents]
            some = sorted(set().union(*changed) - set(changed[0]).intersection(*changed[1:]))
            found[oid] = tuple(of_sides(path, [side.get(path) for side in changed]) for path in some)
        return found


def _commit(row: bytes) -> Oid | None:
    words = row.decode("ascii", "replace").split(" ")
    return Oid(words[0]) if len(words) == 2 and words[1] == "commit" else None


def parsed(out: bytes) -> Iterator[tuple[Oid, list[Delta]]]:
    """Yield each commit with its entries: a commit is its id, an entry its description and one path."""
    fields = iter(out.split(b"\0")[:-1])
    current: tuple[Oid, list[Delta]] | None = None
    for field in fields:
        if not field.startswith(b":"):
            if current is not None:
                yield current
            current = Oid(field.decode("ascii")), []
            continue
        assert current is not None, "git names the commit before its entries"
        current[1].append(_delta(field, next(fields)))
    if current is not None:
        yield current


def deltas(out: bytes) -> list[Delta]:
    """Return the entries of raw output that names no commit: of two trees, or of one and the index."""
    fields = iter(out.split(b"\0")[:-1])
    return [_delta(field, next(fields)) for field in fields]


def _delta(description: bytes, path: bytes) -> Delta:
    """Read `:mode mode id id status`, or with n colons n parents' modes and ids before the result's own."""
    parents = len(description) - len(description.lstrip(b":"))
    words = description[parents:].decode("ascii").split(" ")
    modes, ids = words[: parents + 1], words[parents + 1 : 2 * parents + 2]
    first, *others, new = map(entry_of, modes, ids)
    return Delta(path.decode("utf-8", "surrogateescape"), first, new, tuple(others))


def entry_of(mode: str, oid: str) -> TreeEntry | None:
    """Return what a mode and an id of git's raw output mean; both of zeros are nothing."""
    if not mode.strip("0"):
        return None
    # Very old trees have files with other permissions; git itself takes them for one of the two.
    plain = ("100755" if int(mode, 8) & 0o100 else "100644") if mode.startswith("100") else mode
    return TreeEntry(plain, Oid(oid))
