"""What `doctor` looks at: one function a check, each a list of findings; reads everything, changes nothing."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from git_coord.domain.ids import Oid
from git_coord.domain.placing import fault
from git_coord.domain.team import NO_RULES
from git_coord.errors import CoordError
from git_coord.service.adopt import walk
from git_coord.service.exchange.one_place import judge_place, same_repository
from git_coord.service.exchange.own_refs import copies
from git_coord.service.ledger import fetched_ledger, open_ledger, verified
from git_coord.service.lineage import lineage
from git_coord.service.members.read_only import limits, read_only
from git_coord.service.operations import require_membership
from git_coord.service.requests import read_requests
from git_coord.service.team import RULES_FILE, load_team
from git_coord.store import refnames
from git_coord.store.mending import are_whole, broken

from .root import App

OLD_LOCK = 60
"""Seconds after which a lock file is called left behind; git itself holds one for milliseconds."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report: "ok", "note" or "wrong", what was seen, and the command that mends it."""

    level: str
    text: str
    next: str | None = None


def diagnose(app: App) -> list[Finding]:
    """Run every check; one that cannot run is a finding itself."""
    found: list[Finding] = []
    for check in CHECKS:
        try:
            found += check(app)
        except CoordError as trouble:
            found.append(Finding("wrong", trouble.message, trouble.next))
    return found


def _program(app: App) -> Iterator[Finding]:
    words = app.git.run(["version"]).out.decode("utf-8", "replace").strip()
    yield Finding("ok", f"{words}, {app.location.object_format} objects")


def _ledger(app: App) -> Iterator[Finding]:
    """Verify the whole ledger again, from its root."""
    head = open_ledger(app.coord)
    if head is None:
        yield Finding("wrong", "no ledger in this clone", "git coord init")
        return
    done = walk(app.coord, None, lineage(app.coord.store, head.oid, None))
    if done.fault is not None:
        text = f"ledger commit {done.fault.commit[:10]}: {done.fault.reason}"
        yield Finding("wrong", text, done.fault.next)
        return
    counters, claims = head.state.counters, len(head.state.claims)
    yield Finding("ok", f"ledger {head.oid[:10]}: {counters.ops} operations verified, {claims} live claims")
    folds = "true" in (app.config.get("core.ignorecase"), app.config.get("core.precomposeunicode"))
    if folds != (head.state.policy.fold == "case+nfc"):
        yield Finding("note", f"names compare by {head.state.policy.fold} here, but this file system does otherwise")


def _membership(app: App) -> Iterator[Finding]:
    if app.coord.identity is None and (found := read_only(app.coord.files)):
        yield Finding("note", f"read-only: {found.why}", "git coord init   (once you may write there)")
        return
    if app.coord.identity is None:
        yield Finding("wrong", "no agent name in this worktree", "git coord init")
        return
    if why := limits(app.coord.files):
        yield Finding("note", f"read-only: {why}")
        return
    require_membership(app.coord)
    yield Finding("ok", f"{app.coord.me.agent} is a member, with this key and session")


def _refs(app: App) -> Iterator[Finding]:
    refs = app.coord.store.refs(*refnames.ALL_PREFIXES)
    odd = [ref for ref in refs if ref not in (refnames.SEEN, refnames.BEFORE) and refnames.parse(ref) is None]
    yield Finding("ok", f"{len(refs)} refs of ours")
    for ref in odd[:10]:
        yield Finding("note", f"{ref} fits no rule and is ignored", f"git update-ref -d {ref}")
    for ref in sorted(copies(app.coord))[:10]:
        text = f"{ref} is a copy of another agent's, left by a fetch by hand: it is neither read nor pushed"
        yield Finding("note", text, f"git update-ref -d {ref}")
    for key, values in app.config.under("remote").items():
        for value in values:
            source = value.lstrip("+").partition(":")[2]
            if key.endswith(".fetch") and source.startswith(refnames.LIVE):
                text = f"{key} = {value} lets a plain fetch overwrite records that are not pushed yet"
                yield Finding("wrong", text, f"git config --unset-all {key} '{_escaped(value)}'")


def _escaped(value: str) -> str:
    return "".join(f"\\{sign}" if sign in "+*.[]^$\\" else sign for sign in value)


def _locks(app: App) -> Iterator[Finding]:
    for path in _lock_files(app.location.common_dir):
        age = int(time.time() - os.lstat(path).st_mtime)
        if age > OLD_LOCK:
            yield Finding("wrong", f"{path} was left behind {age} s ago by a killed process", f"rm '{path}'")
        else:
            text = f"{path} is {age} s old: a git is at work, or was just killed"
            yield Finding("note", text, f"rm '{path}'   (once no git runs here)")


def _lock_files(common: str) -> Iterator[str]:
    packed = os.path.join(common, "packed-refs.lock")
    if os.path.lexists(packed):
        yield packed
    for prefix in refnames.ALL_PREFIXES:
        for folder, _, names in os.walk(os.path.join(common, prefix.rstrip("/"))):
            yield from (os.path.join(folder, name) for name in names if name.endswith(".lock"))


def _pending(app: App) -> Iterator[Finding]:
    head = app.coord.head
    if head is None:
        return
    for request in read_requests(app.coord, fetched=False):
        for seq, sealed in request.operations.items():
            if sealed is None:
                yield Finding("wrong", f"operation {seq} of {request.agent} cannot be believed")
            elif reason := fault(head.state, sealed.op, sealed.key):
                yield Finding("wrong", f"{sealed.op.KIND} {seq} of {request.agent} cannot be placed: {reason}")
            else:
                yield Finding("note", f"{sealed.op.KIND} {seq} of {request.agent} waits for a sync", "git coord sync")


def _unsent(app: App) -> Iterator[Finding]:
    from git_coord.service.exchange.send import unsent

    left = unsent(app.coord)._replace(operations=0)  # which are listed one by one
    if words := left.words():
        yield Finding("note", f"not sent: {words}", "git coord sync")


def _remote(app: App) -> Iterator[Finding]:
    if app.coord.remote is None:
        yield Finding("ok", "no remote: claims hold in this clone and its worktrees only")
        return
    app.coord.remote.fetch((refnames.Family.CLAIMS, refnames.Family.EPOCHS))
    judge_place(app.coord)
    yield from _of_the_team(app)
    yield Finding("ok", f"{app.coord.remote.name} answers")
    tip = fetched_ledger(app.coord)
    done = verified(app.coord, tip) if tip is not None and app.coord.head is not None else None
    if done is not None and done.fault is not None:
        text = f"the ledger at {app.coord.remote.name}: commit {done.fault.commit[:10]}: {done.fault.reason}"
        yield Finding("wrong", text, done.fault.next)


def _of_the_team(app: App) -> Iterator[Finding]:
    """Ask about a tracked file that names another place: it may be any branch's, and moves nobody."""
    assert app.coord.remote is not None
    here, team = app.coord.remote.place, load_team(app.location.top)[0] if app.location.top else NO_RULES
    is_there = team.url is None or same_repository(team.url, here.url)
    if not is_there or team.prefix not in (None, here.prefix):
        text = (
            f"{RULES_FILE} says that the ledger is at {team.url or here.url} ({team.prefix or here.prefix}), and it is"
        )
        yield Finding("note", f"{text} at {here.shown()}; a team moves by git coord move", f"git log -- :/{RULES_FILE}")


def broken_refs(app: App) -> dict[refnames.Ref, Oid]:
    """Return the refs of ours that need an object which is missing or damaged."""
    return broken(app.coord.store, app.location.common_dir)


def _objects(app: App) -> Iterator[Finding]:
    if not are_whole(app.git, app.coord.store, app.location.common_dir):
        for ref in list(broken_refs(app))[:10]:
            yield Finding("wrong", f"{ref} needs an object that is missing or damaged", "git coord doctor --fix")


CHECKS: tuple[Callable[[App], Iterator[Finding]], ...] = (
    _program,
    _ledger,
    _membership,
    _refs,
    _objects,
    _locks,
    _pending,
    _unsent,
    _remote,
)
