"""Git's own three-way merges of the user's commits and blobs, in a scratch repository beside theirs.

The scratch borrows the user's objects and has no configuration of theirs: no merge driver or attribute of a clone
decides what is clean, nothing that a repository names is run, and what merging writes is thrown away.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise

from git_coord.domain.carried import Past, ThreeWay, TreeEntry
from git_coord.domain.commits import Delta
from git_coord.domain.ids import Oid
from git_coord.domain.merkle import GitObject, hash_object
from git_coord.lean import NamedTuple

from . import refnames
from .git import Git
from .loose import LooseObjects
from .userhistory import deltas, entry_of, parsed

MAX_PAST = 1000
"""Commits of a path's history that are looked at."""
MAX_ARGUMENTS = 200
_SETTINGS = ("-c", "merge.directoryRenames=false", "-c", "core.attributesFile=")
_MERGE = ("merge-tree", "--write-tree", "--allow-unrelated-histories", "--no-messages", "--stdin")
_ENV = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
_NOBODY = "git-coord <git-coord> 0 +0000"
_DIFF = ("diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames", "--ignore-submodules=none")


class Merged(NamedTuple):
    """A merge that git finished: its tree, and the paths that it left in conflict."""

    tree: Oid
    conflicts: frozenset[str]


class GitMerges:
    """Merges in one repository; the scratch is made when it is first needed, and goes with this object."""

    def __init__(self, git: Git) -> None:
        """Prepare; nothing is run yet."""
        self._git = git
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._made: Git | None = None
        self._algorithm = "sha1"

    def lacking(self, blobs: Collection[Oid]) -> list[Oid]:
        """Return which of these objects are not in this clone."""
        asked = "".join(f"{oid}\n" for oid in sorted(blobs)).encode("ascii")
        rows = self._scratch().run(["cat-file", "--batch-check=%(objectname)"], asked).out.decode("ascii").splitlines()
        return [Oid(row.split(" ")[0]) for row in rows if row.endswith(" missing")]

    def blobs(self, asked: Sequence[ThreeWay]) -> list[Oid | None]:
        """Return what the clean merges of these blobs are, None for one in conflict, binary, or not here."""
        here = {oid for three in asked for oid in three} - set(self.lacking({oid for three in asked for oid in three}))
        fitting = [three for three in asked if here.issuperset(three)]
        objects: dict[Oid, GitObject] = {}
        lines = [self._sides(three, objects) for three in fitting]
        LooseObjects(self._objects()).write(list(objects.values()))
        merged = self._merge(lines)
        made = dict(zip(fitting, self._single(merged), strict=True))
        return [made.get(three) for three in asked]

    def merged(self, parents: Sequence[Oid], paths: Sequence[str]) -> dict[str, TreeEntry | None] | None:
        """Return what git's merge of these commits has at paths, without those in conflict; None if it cannot merge.

        More than two are merged one after the other, as git itself does.
        """
        first, *others = parents
        conflicts: set[str] = set()
        for other in others:
            merged = self._merge([f"{first} {other}"])[0]
            if merged is None:
                return None
            conflicts |= merged.conflicts
            made = self._commit(merged.tree, [first, other])
            LooseObjects(self._objects()).write([made])
            first = made.oid
        wanted = [path for path in paths if path not in conflicts]
        there = self._entries(first, wanted) if wanted else {}
        return {path: there.get(path) for path in wanted}

    def changed_by_both(self, parents: Sequence[Oid]) -> set[Oid]:
        """Return the blobs whose content a merge of these commits has to look at."""
        found: set[Oid] = set()
        for one, other in pairwise(parents):
            for base in self._git.run(["merge-base", "--all", one, other], check=False).out.decode("ascii").split():
                ours, theirs = ({delta.path: delta for delta in self._between(base, side)} for side in (one, other))
                both = [delta for path in ours.keys() & theirs.keys() for delta in (ours[path], theirs[path])]
                found |= {side.blob for delta in both for side in (delta.old, delta.new) if side is not None}
        return found

    def _between(self, base: str, side: str) -> list[Delta]:
        return deltas(self._git.run([*_DIFF, base, side]).out)

    def cut_off(self, parents: Sequence[Oid]) -> bool:
        """Tell whether a shallow clone ends before the parents of a merge meet."""
        shallow = self._shallow()
        if not shallow:
            return False
        asked = "".join(f"{oid}\n" for oid in parents) + "--not\n"
        bases = self._git.run(["merge-base", "--all", *parents], check=False).out.decode("ascii").split()
        if not bases:
            return True
        out = self._git.run(["rev-list", "--stdin"], (asked + "".join(f"{oid}\n" for oid in bases)).encode("ascii")).out
        return not shallow.isdisjoint(out.decode("ascii").split())

    def past(self, tips: Sequence[Oid], paths: Sequence[str], since: Oid | None = None) -> dict[str, Past]:
        """Return the history of paths up to these commits (after `since`), the newest part of it."""
        ends = [*tips, *([] if since is None else [f"^{since}"])]
        line = ["--literal-pathspecs", "rev-list", "--full-history", "--topo-order", f"-n{MAX_PAST}", *ends, "--"]
        found: dict[str, Past] = {}
        for start in range(0, len(paths), MAX_ARGUMENTS):
            some = paths[start : start + MAX_ARGUMENTS]
            commits = self._git.run([*line, *some]).out
            diff = ["--literal-pathspecs", *_DIFF, "--stdin", "-m", "--root", "--", *some]
            rows = list(parsed(self._git.run(diff, commits).out)) if commits else []
            for oid, delta in [(oid, delta) for oid, changes in rows[::-1] for delta in changes]:
                before = found.get(delta.path, Past())
                found[delta.path] = Past(before.commits | {oid}, (*before.contents, delta.new))
        return found

    def _scratch(self) -> Git:
        if self._made is None:
            out = self._git.run(["rev-parse", "--show-object-format", "--git-path", "objects"]).out
            self._algorithm, _, objects = os.fsdecode(out).removesuffix("\n").partition("\n")
            self._folder = tempfile.TemporaryDirectory(prefix="git-coord-")
            _make(self._folder.name, self._algorithm, os.path.abspath(os.path.join(self._git.cwd or "", objects)))
            self._made = self._git.elsewhere(self._folder.name, _ENV)
        self._copy_shallow()
        return self._made

    def _objects(self) -> str:
        assert self._folder is not None
        return os.path.join(self._folder.name, "objects")

    def _shallow(self) -> frozenset[str]:
        return frozenset(self._shallow_file().split())

    def _shallow_file(self) -> str:
        path = os.fsdecode(self._git.run(["rev-parse", "--git-path", "shallow"]).out).removesuffix("\n")
        try:
            with open(os.path.join(self._git.cwd or "", path), encoding="ascii") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def _copy_shallow(self) -> None:
        """Let the scratch know where history ends, which may have moved since."""
        assert self._folder is not None
        if text := self._shallow_file():
            with open(os.path.join(self._folder.name, "shallow"), "w", encoding="ascii") as file:
                file.write(text)

    def _merge(self, lines: Sequence[str]) -> list[Merged | None]:
        if not lines:
            return []
        asked = "".join(f"{line}\n" for line in lines).encode("ascii")
        done = self._scratch().run([*_SETTINGS, *_MERGE], asked, check=False)
        found: list[Merged | None] = list(_results(done.out))
        # Git ends at a merge that it cannot read, and one before 2.39 knows no such merges at all.
        return [*found, *[None] * (len(lines) - len(found))]

    def _sides(self, three: ThreeWay, objects: dict[Oid, GitObject]) -> str:
        """Return the two commits to be merged, each a tree of one file."""
        base = self._alone(three.base, [], objects)
        return " ".join(self._alone(blob, [base], objects) for blob in (three.ours, three.theirs))

    def _alone(self, blob: Oid, parents: Sequence[Oid], objects: dict[Oid, GitObject]) -> Oid:
        tree = hash_object("tree", b"100644 f\0" + bytes.fromhex(blob), self._algorithm)
        commit = self._commit(tree.oid, parents)
        objects |= {tree.oid: tree, commit.oid: commit}
        return commit.oid

    def _commit(self, tree: Oid, parents: Sequence[Oid]) -> GitObject:
        lines = [f"tree {tree}", *(f"parent {oid}" for oid in parents), f"author {_NOBODY}", f"committer {_NOBODY}"]
        return hash_object("commit", "\n".join([*lines, "", ""]).encode("ascii"), self._algorithm)

    def _single(self, merged: Sequence[Merged | None]) -> Iterator[Oid | None]:
        clean = [one.tree for one in merged if one is not None and not one.conflicts]
        asked = "".join(f"{tree}:f\n" for tree in clean).encode("ascii")
        out = self._scratch().run(["cat-file", "--batch-check=%(objectname)"], asked).out if clean else b""
        blobs = iter(out.decode("ascii").splitlines())
        for one in merged:
            yield Oid(next(blobs)) if one is not None and not one.conflicts else None

    def _entries(self, commit: Oid, paths: Sequence[str]) -> dict[str, TreeEntry | None]:
        few = paths if len(paths) <= MAX_ARGUMENTS else ()
        line = ["--literal-pathspecs", "ls-tree", "-r", "-z", "--full-tree", commit, "--", *few]
        rows = [row.partition(b"\t") for row in self._scratch().run(line).out.split(b"\0") if row]
        return {os.fsdecode(name): entry_of(*head.decode("ascii").split(" ")[::2]) for head, _, name in rows}


def _make(folder: str, algorithm: str, objects: str) -> None:
    """Lay out a bare repository that borrows objects; starting `git init` would take longer."""
    for name in ("objects/info", "objects/pack", "refs"):
        os.makedirs(os.path.join(folder, name))
    version, extension = (0, "") if algorithm == "sha1" else (1, f"[extensions]\n\tobjectFormat = {algorithm}\n")
    files = {
        "HEAD": f"ref: {refnames.BRANCHES}none\n".encode("ascii"),
        "config": f"[core]\n\trepositoryFormatVersion = {version}\n\tbare = true\n{extension}".encode("ascii"),
        "objects/info/alternates": _quoted(os.fsencode(objects)) + b"\n",
    }
    for name, data in files.items():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(data)


def _quoted(path: bytes) -> bytes:
    """Return a path as git reads it in a list of object directories."""
    if path[:1] not in b'"#' and b"\n" not in path:
        return path
    return b'"' + b"".join(bytes([b]) if 32 <= b < 127 and b not in b'"\\' else b"\\%03o" % b for b in path) + b'"'


def _results(out: bytes) -> Iterator[Merged]:
    """Read `status NUL tree NUL (mode id stage TAB path NUL)* NUL` of each merge; a negative status ends it."""
    fields = iter(out.split(b"\0")[:-1])
    for status in fields:
        if status not in (b"0", b"1"):
            return
        tree = Oid(next(fields).decode("ascii"))
        paths = [os.fsdecode(row.partition(b"\t")[2]) for row in iter(lambda: next(fields, b""), b"")]
        if status == b"0" and not paths:
            return
        yield Merged(tree, frozenset(paths))
