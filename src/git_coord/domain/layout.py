"""How a state lies in a ledger's tree: every file, its bytes, and which change touches it (`docs/format.md`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from git_coord.lean import NamedTuple

from . import canonical
from .envelope import VERSION
from .outcome import Change, Done, Outcome, Queued, Refused, Served
from .state import Counters, Epoch, Expelled, KeySince, LiveClaim, Member, Restored, State
from .statements import BlockTasks, Checkpoint, Expel, Join, Operation, Policy, Release, Renew, Replay, Restore
from .timestamps import format_stamp

FORMAT, POLICY, COUNTERS, EPOCH = "format", "policy", "counters", "epoch"
RESTORED, MOVED = "restored", "moved"
OPERATIONS, AGENTS, CLAIMS, WAITING, BLOCKED = "op", "agents", "claims", "waiting", "blocked"
EXPELLED = "expelled"


class File(NamedTuple):
    """A path of the tree with its new bytes, or None when it goes."""

    path: str
    data: bytes | None


class Copy(NamedTuple):
    """A file or folder of the tree that is to lie at another path as well."""

    source: str
    path: str


def operation_path(index: int) -> str:
    """Return where the commit's operation number `index` lies."""
    return f"{OPERATIONS}/{index:04}"


def claim_folder(token: int) -> str:
    """Return the folder of a live claim."""
    return f"{CLAIMS}/{token // 100}/{token}"


def waiter_path(queue: int) -> str:
    """Return where the record of a waiting claim lies."""
    return f"{WAITING}/{queue // 100}/{queue}"


def birth_files(root: Policy) -> Iterator[File]:
    """Yield the files that only the root writes."""
    fixed = {"fold": root.fold, "repo": root.repo, "skew": root.skew, "v": VERSION}
    yield File(FORMAT, _line(fixed))


def changed_files(op: Operation, record: bytes, outcome: Outcome) -> Iterator[File | Copy]:
    """Yield what placing `op` changes, besides `op/`, in order."""
    state = outcome.state
    if state.policy is op:
        yield File(POLICY, record)
    if state.moved is op:
        yield File(MOVED, record)
    if op.agent in state.agents:
        yield File(f"{AGENTS}/{op.agent}", _member(state.agents[op.agent]))
    if isinstance(op, Join | Expel):
        yield from _membership_files(op, outcome)
    if isinstance(op, Checkpoint) and state.epoch:
        yield File(EPOCH, epoch_line(state.epoch))
    if isinstance(op, Restore | Replay) and state.restored:
        yield File(RESTORED, _restored(state.restored))
    for waiter in (*outcome.queueing.dropped, *(outcome.left if isinstance(outcome, Done) else ())):
        yield File(waiter_path(waiter.queue), None)
    yield from _own_files(op, record, outcome)
    for number, served in enumerate(outcome.queueing.served, 1):
        yield from _served_files(state, served, number)
    yield File(COUNTERS, _counters(state.counters))


def _membership_files(op: Join | Expel, outcome: Outcome) -> Iterator[File]:
    """Yield who is out; a join takes its name from there, where it was."""
    if isinstance(op, Join):
        yield File(f"{EXPELLED}/{op.agent}", None)
    elif isinstance(outcome, Done):
        for agent in op.agents:
            yield File(f"{AGENTS}/{agent}", None)
            yield File(f"{EXPELLED}/{agent}", _expelled(outcome.state.expelled[agent]))


def _own_files(op: Operation, record: bytes, outcome: Outcome) -> Iterator[File | Copy]:
    match outcome:
        case Queued(waiter=waiter):
            yield File(waiter_path(waiter.queue), record)
        case Done() if isinstance(op, BlockTasks):
            yield File(_block_path(outcome.state.counters.ops), record)
        case Done(lifted=lifted) if lifted:
            yield from (File(_block_path(block.position), None) for block in lifted)
        case Done(changes=(old, new)) if isinstance(op, Release) and op.to is not None:
            yield from _handed_files(outcome.state, old, new, record)
        case Refused():
            return
        case _:
            for change in outcome.changes:
                yield from _claim_files(outcome.state, op, record, change)


def _claim_files(state: State, op: Operation, record: bytes, change: Change) -> Iterator[File]:
    before, after = change
    if after is None:
        assert before is not None
        yield File(claim_folder(before.token), None)
        return
    folder = claim_folder(after.token)
    if before is None:
        yield File(f"{folder}/grant", _grant(after))
        yield File(f"{folder}/claim", record)
    elif isinstance(op, Renew):
        yield File(f"{folder}/renew", record)
    elif after.settling is not before.settling:
        yield File(f"{folder}/settling", record)
    else:
        yield File(_cut_path(state, after, 0), record)


def _handed_files(state: State, old: Change, new: Change, record: bytes) -> Iterator[File | Copy]:
    """Yield a claim that changes hands: what made it so far goes along, then the release that handed it over."""
    assert old.before is not None
    assert new.after is not None
    source, folder = claim_folder(old.before.token), claim_folder(new.after.token)
    yield Copy(source, folder)
    yield File(f"{folder}/settling", None)
    yield File(f"{folder}/grant", _grant(new.after))
    yield File(f"{folder}/handed-{state.counters.ops:012}-0000", record)
    if old.after is None:
        yield File(source, None)
    else:
        yield File(_cut_path(state, old.after, 0), record)


def _served_files(state: State, served: Served, number: int) -> Iterator[File | Copy]:
    """Yield a claim that leaves the queue: its record moves, and lies in what it replaced too."""
    record = waiter_path(served.waiter.queue)
    for before, after in served.changes:
        if before is None:
            yield File(f"{claim_folder(served.claim.token)}/grant", _grant(served.claim))
            yield Copy(record, f"{claim_folder(served.claim.token)}/claim")
        elif after is None:
            yield File(claim_folder(before.token), None)
        else:
            yield Copy(record, _cut_path(state, after, number))
    yield File(record, None)


def _cut_path(state: State, claim: LiveClaim, number: int) -> str:
    """Return where a cut lies: by position and, as one operation can serve many waiters, the number within it."""
    return f"{claim_folder(claim.token)}/cut-{state.counters.ops:012}-{number:04}"


def _block_path(position: int) -> str:
    return f"{BLOCKED}/{position:012}"


def _line(value: Any) -> bytes:
    return canonical.dumps(value) + b"\n"


def _keys(keys: Iterable[KeySince]) -> list[dict[str, Any]]:
    return [{"from": since.position, "key": since.key} for since in keys]


def _member(member: Member) -> bytes:
    keys = _keys(member.keys)
    return _line({"at": format_stamp(member.at), "keys": keys, "seq": member.seq, "session": member.session})


def _expelled(one: Expelled) -> bytes:
    fixed = {"at": format_stamp(one.at), "by": one.by, "keys": _keys(one.keys)}
    return _line(fixed | {"ops": one.position, "reason": one.reason})


def epoch_line(epoch: Epoch) -> bytes:
    """Return the file of an epoch."""
    return _line({"number": epoch.number, "old": epoch.old, "ops": epoch.ops, "root": epoch.root})


def _restored(restored: Restored) -> bytes:
    listed = [{"agent": agent, "nonce": nonce} for agent, nonce in sorted(restored.replayed)]
    fixed = {"agent": restored.agent, "at": format_stamp(restored.at), "found": restored.found}
    return _line(fixed | {"ops": restored.position, "replayed": listed})


def _counters(counters: Counters) -> bytes:
    return _line(
        {"at": format_stamp(counters.at), "ops": counters.ops, "queue": counters.queue, "token": counters.token}
    )


def _grant(claim: LiveClaim) -> bytes:
    stamps = [{"name": stamp.name, "value": stamp.value} for stamp in claim.stamps]
    fixed = {"at": format_stamp(claim.at), "holder": claim.holder, "op": claim.op, "stamps": stamps}
    return _line(fixed | {"token": claim.token, "unattended": claim.unattended})
