"""Which repository is around a folder, as git itself sees it: one question, and where it lies."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from git_coord.domain.ids import Oid
from git_coord.errors import CoordError, Kind
from git_coord.lean import NamedTuple
from git_coord.process import Process

from .git import Git, words

if TYPE_CHECKING:
    StrPath = str | os.PathLike[str]


class Location(NamedTuple):
    """Where a repository is: absolute paths without symbolic links; `top` is None without a worktree around us.

    `prefix` is where we are below the top, empty or ending in a slash. Strings, because `pathlib` costs 4 ms.
    """

    git_dir: str
    common_dir: str
    top: str | None
    prefix: str
    object_format: str
    is_bare: bool
    is_inside_work_tree: bool
    upstream: Oid | None
    """The commit of the branch that the one checked out follows, where this clone has it."""

    def git(
        self,
        env: Mapping[str, str],
        *,
        network: bool = False,
        begun: dict[tuple[str, ...], Process] | None = None,
    ) -> Git:
        """Return git for this repository."""
        return Git(self.git_dir, env, self.top or self.git_dir, network=network, begun=begun)


def discover(start: StrPath, env: Mapping[str, str], begun: dict[tuple[str, ...], Process] | None = None) -> Location:
    """Find the repository around `start` as git would; raises CoordError(ERROR) with git's words when there is none.

    Two departures, both for hooks. GIT_DIR alone makes git take `start` for the top of the worktree: where `start`
    lies in a worktree of that very repository, its real top counts. GIT_PREFIX is ignored, as git itself does: it
    tells where the user stood, but a hook is started at the top.
    """
    given = env.get("GIT_DIR")
    if given is not None and "GIT_WORK_TREE" not in env:
        found = _locate(Git(None, env, start), check=False)
        if found is not None and found.git_dir == os.path.realpath(os.path.join(start, given)):
            return found
    git = Git(None, env, start, begun=begun)
    kept = {name: env[name] for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR") if name in env}
    location = _locate(git, kept)
    assert location is not None
    return location


_FACTS = ("--show-object-format", "--is-bare-repository", "--is-inside-work-tree")
_PATHS = ("--show-prefix", "--absolute-git-dir", "--git-common-dir", "--show-toplevel")
_UPSTREAM = "@{upstream}^{commit}"
WHERE_QUESTION = ("rev-parse", *_FACTS, *_PATHS, _UPSTREAM)


def _locate(git: Git, env: Mapping[str, str] | None = None, *, check: bool = True) -> Location | None:
    done = git.run(WHERE_QUESTION, check=False, env=env)
    lines = os.fsdecode(done.out).split("\n")[:-1]
    facts, found = lines[: len(_FACTS)], lines[len(_FACTS) :]
    if done.code and found[-1:] == [_UPSTREAM]:
        found.pop()  # echoed: an upstream is configured, and was never fetched
    least = len(_PATHS) - (facts[2:] == ["false"])
    # Without a worktree the last path fails, without an upstream the question after it: both are answers.
    if done.code and len(found) < least:
        if check:
            raise CoordError(Kind.ERROR, words(done.err).strip() or "git cannot tell where the repository is")
        return None
    # More lines are a newline in some path: one question at a time. (`--path-format` is in git from 2.31 on only.)
    simple = len(found) == (least if done.code else len(_PATHS) + 1)
    answers = [*found, None, None] if simple else _one_by_one(git, env)
    prefix, git_dir, common_dir = (answer or "" for answer in answers[:3])  # these three never fail
    top, upstream = answers[3:5]
    assert git.cwd is not None
    return Location(
        git_dir=git_dir,
        common_dir=os.path.realpath(os.path.join(git.cwd, common_dir)),
        top=top,
        prefix=prefix,
        object_format=facts[0],
        is_bare=facts[1] == "true",
        is_inside_work_tree=facts[2] == "true",
        upstream=Oid(upstream) if upstream and upstream.isalnum() else None,
    )


def _one_by_one(git: Git, env: Mapping[str, str] | None) -> list[str | None]:
    """Return the answers about paths and upstream, None for what there is not."""
    questions = [*([path] for path in _PATHS), ["--quiet", "--verify", _UPSTREAM]]
    answers = [git.run(["rev-parse", *question], check=False, env=env) for question in questions]
    return [None if done.code else os.fsdecode(done.out).removesuffix("\n") for done in answers]
