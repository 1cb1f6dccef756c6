"""What an installed hook runs when the guard could not say "allow" by itself, and `git coord hook NAME`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from git_coord.errors import CoordError, Kind
from git_coord.guard import fast, git, refresh

if TYPE_CHECKING:
    from git_coord.app import App
    from git_coord.guard.changes import Changes
    from git_coord.service.leases import Gone

    from .judge import Judgement
    from .words import Commit

JUDGING = ("pre-commit", "pre-merge-commit", "prepare-commit-msg")
RECORDING = ("post-commit", "post-rewrite")
"""Hooks that the shims do alone, without Python."""


def run_hook(name: str, args: Sequence[str], *, explain: bool = False) -> int:
    """Run a hook as git would, at the top of the worktree; returns the exit status.

    `explain` says that the guard has been asked already. Raises CoordError(USAGE) for a name that is no hook of ours.
    """
    if os.environ.get(fast.PROBE):
        print(f"{fast.PROBE_ANSWER}{name}")  # noqa: T201 (a front end)
        return 1  # so that a hook which says `git-coord hook … || exit` does nothing else when it is only asked
    if name in RECORDING:
        _record(name)
    if name == "post-checkout":
        _welcome(args)
    if name in refresh.HOOKS:
        fast.look_after(name, list(args))
        return 0
    if name not in (*JUDGING, "pre-push"):
        raise CoordError(Kind.USAGE, f"{name!r} is no hook of git coord")
    if not explain and fast.is_allowed(name, list(args), None):
        return 0
    return _decide(name, args)


def _welcome(args: Sequence[str]) -> None:
    from .new_worktree import SETTING, is_new, welcome

    if is_new(args) and git.Process("config", "--bool", SETTING).finish()[1].strip() == b"true":
        welcome()


def _record(name: str) -> None:
    from . import record

    with suppress(OSError):  # the commit is made; its receipt may be missing, and CI then judges it without
        if name == "post-commit":
            record.record_commit()
        else:
            record.record_rewrites(sys.stdin.read().splitlines())


def _decide(name: str, args: Sequence[str]) -> int:
    settings = fast.read_settings()
    mode = fast.mode_of(settings)
    if mode not in fast.MODES:
        _say([f"git coord: mode '{mode}' is none of {', '.join(fast.MODES)}; taken as block"])
    if fast.is_bypassed() or mode == "off":
        if name == "pre-push" and mode != "off":
            _note_bypass(args)
        return 0
    try:
        status = _verdict_of(name)(name, list(args), mode == "warn")
    except CoordError as trouble:
        status = _failed(name, trouble)
    except Exception as trouble:  # whatever goes wrong must not look like a verdict
        status = _failed(name, CoordError(Kind.ERROR, f"{type(trouble).__name__}: {trouble}", next="git coord doctor"))
    return 0 if mode == "warn" else status


def _note_bypass(args: Sequence[str]) -> None:
    from .pre_push import note_bypass

    with suppress(Exception):  # whatever is broken, a bypass works
        note_bypass(args)


def _verdict_of(name: str) -> Callable[[str, list[str], bool], int]:
    if name != "pre-push":
        return _judge_commit
    from importlib import import_module

    judge_push: Callable[[str, list[str], bool], int] = import_module("git_coord.hooks.pre_push").judge_push
    return judge_push


def _failed(name: str, trouble: CoordError) -> int:
    """Say why nothing can be said of the claims; that is never a yes."""
    from .words import BYPASS

    bypass = BYPASS.replace("git commit", "git push") if name == "pre-push" else BYPASS
    lines = [f"git coord: cannot tell whether this is free: {trouble.message}"]
    _say([*lines, *([f"next    {trouble.next}"] if trouble.next else []), bypass])
    return trouble.kind.exit_status


def _judge_commit(hook: str, args: list[str], warns: bool) -> int:
    from git_coord.app import open_app
    from git_coord.guard.changes import Changes
    from git_coord.guard.git import GitFailed

    app = open_app(os.getcwd(), os.environ, notice=lambda text: _say([f"git coord: {text}"]))
    if not fast.concerns(hook, args, app.location.git_dir):
        return 0
    changes = Changes(hook, args, app.location.git_dir)
    try:
        paths = [path.decode("utf-8", "surrogateescape") for path in changes.paths()]
    except GitFailed as failed:
        raise CoordError(Kind.ERROR, f"cannot read what is to be committed: {failed}", next="git fsck") from None
    old = _look_again(hook, app)
    judged, gone = _judged(app, changes, paths)
    status = _tell(app, judged, gone, _commit(app, changes), warns)
    if status == 0:
        _say(old)
    _live_on(app, is_over=bool(judged.lapsed))
    return status


def _look_again(hook: str, app: App) -> list[str]:
    """Make an old picture young before a commit is judged; return what to say if it stays old."""
    if hook not in fast.LOOKING or app.coord.remote is None:
        return []
    from .looking import look_again

    return look_again(app)


def _judged(app: App, changes: Changes, paths: list[str]) -> tuple[Judgement, list[Gone]]:
    """Return what is to be said, and the claims on any of the paths that were taken from the agent."""
    from git_coord.service.ledger import open_ledger
    from git_coord.service.query import picture
    from git_coord.service.snapshot import write_snapshot
    from git_coord.service.team import load_team, write_policy

    from .judge import judge, rules_here
    from .stops import taken

    if open_ledger(app.coord) is None:
        raise CoordError(Kind.UNKNOWN, "there is no ledger in this clone any more", next="git coord init")
    team, stamped = load_team(app.location.top or ".")
    now = picture(app.coord)
    if team.repo not in (None, now.state.repo):
        raise CoordError(Kind.UNTRUSTED, f".coord.toml means the ledger {team.repo}, here is {now.state.repo}")
    with suppress(OSError):  # a picture that cannot be written costs time at the next commit, and nothing else
        write_snapshot(app.coord)
        write_policy(app.coord.files, team, stamped, now.state.fold)
    me = app.coord.actor
    team = rules_here(app, team)
    brought = {path.decode("utf-8", "surrogateescape") for path in changes.brought}
    own = [path for path in paths if path not in brought]
    judged, gone = judge(now, team, me, paths).own(own), taken(app, now.state, own)
    if judged.is_free:
        return judged, gone
    from .new_work import new_work

    in_the_way = [*(one.path for one in judged.claimed), *judged.unclaimed]
    new = new_work(app, changes, now, team, in_the_way)
    return judged.only(new if _takes_along(app, changes) else new | judged.waited_for), gone


def _takes_along(app: App, changes: Changes) -> bool:
    """Tell whether git makes the commit of others (a merge, a rebase, a pick): no queue stops that half-way."""
    names = ("rebase-merge", "rebase-apply", "CHERRY_PICK_HEAD", "REVERT_HEAD")
    return changes.kind != "commit" or any(os.path.exists(os.path.join(app.location.git_dir, name)) for name in names)


def _live_on(app: App, *, is_over: bool) -> None:
    """Let the commit be a sign of life; without a remote not one that would hide that the lease was over."""
    if app.coord.actor is not None and not (is_over and app.coord.remote is None):
        from git_coord.guard import beats

        with suppress(OSError):
            beats.beat(app.coord.files.common, app.coord.me.agent, app.coord.clock.now())


def _commit(app: App, changes: Changes) -> Commit:
    from .words import Commit

    index = os.path.basename(os.environ.get("GIT_INDEX_FILE", "index"))
    # Before `git merge` has stopped, nothing but the hook's name tells of it.
    during = fast.underway(app.location.git_dir) or ("merge" if changes.kind == "merge" else None)
    return Commit(changes.kind, bool(changes.parents), index, os.environ.get("GIT_PREFIX", ""), during)


def _tell(app: App, judged: Judgement, gone: list[Gone], commit: Commit, warns: bool) -> int:
    from git_coord.service.sessions import nobody
    from git_coord.service.sync import picture_age

    from . import words

    now = app.coord.clock.now()
    if gone:
        _say(words.gone(gone, commit, now, warns=warns))
        return Kind.LOST.exit_status
    if judged.is_free and judged.lapsed:
        _say(words.lapsed(judged, commit, now, has_remote=app.coord.remote is not None, warns=warns))
        return Kind.LOST.exit_status
    here = nobody(app.coord)
    if judged.is_free:
        if here is not None and app.coord.identity is not None:
            _say([f"git coord: {here.notice}"])
        return 0
    age = picture_age(app.coord) if app.coord.remote is not None else None
    _say(words.refusal(judged, commit, warns=warns, as_of=age, nobody=here, now=now))
    return Kind.CONFLICT.exit_status


def _say(lines: Sequence[str]) -> None:
    from git_coord.domain.text import escape_for_display

    sys.stderr.write("".join(f"{escape_for_display(line)}\n" for line in lines))
