"""Tasks that cannot be worked on: block them, lift that again, and tell who would claim one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from git_coord.domain.ids import Agent, Nonce
from git_coord.domain.items import Item
from git_coord.domain.ledger import Done, Refused
from git_coord.domain.obstacles import blocks_on
from git_coord.domain.state import Block, State
from git_coord.domain.statements import BlockTasks, Operation, Unblock
from git_coord.domain.timestamps import format_stamp
from git_coord.errors import CoordError, Kind
from git_coord.lean import NamedTuple

from .context import Coord
from .operations import operation, require_membership
from .place import UnreachableError, submit
from .remote_ledger import LEDGER_FAMILIES, fetch_and_adopt
from .requests import publish

MAX_TASKS = 256
"""Tasks of one block, and blocks lifted at once."""


class Blocking(NamedTuple):
    """What a block made or an unblock lifted, and the tasks meant; not confirmed while the remote has not placed it.

    `kept` are tasks that were blocked together with those lifted, and stay blocked, by the acting agent now.
    """

    blocks: tuple[Block, ...]
    tasks: tuple[str, ...]
    is_confirmed: bool
    kept: tuple[str, ...] = ()


def block(coord: Coord, tasks: Sequence[str], reason: str) -> Blocking:
    """Keep everybody from claiming these tasks, and what is below them, until somebody lifts it."""
    require_membership(coord)
    _check_count(tasks)
    names = tuple(tasks)
    try:
        submitted = submit(coord, lambda seq: operation(coord, BlockTasks, seq, tasks=names, reason=reason))
    except UnreachableError as trouble:
        return Blocking((_as_block(trouble.sealed.op),), names, is_confirmed=_pending(coord, trouble))
    if not isinstance(submitted.outcome, Done):
        raise _refused(submitted.outcome)
    return Blocking((submitted.outcome.state.blocks[submitted.sealed.op.nonce],), names, is_confirmed=True)


def unblock(coord: Coord, tasks: Sequence[str] | None, reason: str) -> Blocking:
    """Lift every block on these tasks or on what is below them; None lifts all there are.

    Of tasks that were blocked together the others stay blocked: they are blocked anew, in the same push.
    Raises CoordError(ERROR) for a task without a block of its own, naming the task above it that has one.
    """
    require_membership(coord)
    meant = _meant(coord.known.state, tasks)
    lifted = tuple(name for found in meant for name in found.tasks if tasks is None or _is_within(name, tasks))
    kept = tuple(dict.fromkeys(name for found in meant for name in found.tasks if name not in lifted))
    for found in meant:
        if rest := tuple(name for name in found.tasks if name in kept):
            _publish(coord, rest, found.reason)
    nonces = tuple(found.op for found in meant)
    try:
        submitted = submit(coord, lambda seq: operation(coord, Unblock, seq, blocks=nonces, reason=reason))
    except UnreachableError as trouble:
        return Blocking(meant, lifted, is_confirmed=_pending(coord, trouble), kept=kept)
    if not isinstance(submitted.outcome, Done):
        raise _refused(submitted.outcome)
    return Blocking(meant, lifted, is_confirmed=True, kept=kept)


def _publish(coord: Coord, tasks: tuple[str, ...], reason: str) -> None:
    """Publish a block that the operation after it takes along: it is placed first, so nobody gets in between."""
    publish(coord, lambda seq: operation(coord, BlockTasks, seq, tasks=tasks, reason=reason), coord.own_signer)


def _meant(state: State, tasks: Sequence[str] | None) -> tuple[Block, ...]:
    if tasks is None:
        meant = tuple(state.blocks.values())
        if not meant:
            raise CoordError(Kind.ERROR, "no task is blocked", next="git coord status")
        return meant[:MAX_TASKS]
    found: dict[Nonce, Block] = {}
    for task in tasks:
        here = [one for one in state.blocks.values() if any(_is_within(name, [task]) for name in one.tasks)]
        if not here:
            raise _not_blocked(state, task)
        found |= {one.op: one for one in here}
    return tuple(found.values())


def _is_within(name: str, tasks: Iterable[str]) -> bool:
    return any(name == task or name.startswith(f"{task}/") for task in tasks)


def _not_blocked(state: State, task: str) -> CoordError:
    for found in state.blocks.values():
        for above in found.tasks:
            if _is_within(task, [above]):
                text = f"task:{task} is blocked as part of task:{above}"
                return CoordError(Kind.ERROR, text, next=f"git coord unblock task:{above}")
    return CoordError(Kind.ERROR, f"task:{task} is not blocked", next=f"git coord check task:{task}")


def _check_count(tasks: Sequence[str]) -> None:
    if len(tasks) > MAX_TASKS:
        raise CoordError(Kind.USAGE, f"{len(tasks)} tasks, at most {MAX_TASKS} in one block")


def _pending(coord: Coord, trouble: UnreachableError) -> bool:
    coord.notice(f"pending: {trouble.message}; the next sync carries it out")
    return False


def _as_block(op: Operation) -> Block:
    assert isinstance(op, BlockTasks)
    return Block(0, op.nonce, op.agent, op.at, op.tasks, op.reason)


def _refused(outcome: object) -> CoordError:
    reason = outcome.reason.value if isinstance(outcome, Refused) else "published, but not confirmed"
    return CoordError(Kind.ERROR, f"refused: {reason}", next="git coord status")


def block_object(found: Block) -> dict[str, object]:
    """Return who blocked what, since when and why, as `--json` shows it."""
    tasks = [f"task:{name}" for name in found.tasks]
    return {"blocked_by": found.agent, "since": format_stamp(found.at), "reason": found.reason, "tasks": tasks}


def blocked(state: State, items: Iterable[Item], me: Agent) -> CoordError | None:
    """Return the refusal of a claim on these items for a block on one of them, None when there is none."""
    found = blocks_on(state, items)
    if not found:
        return None
    task, first = found[0][0].name, found[0][1]
    more = f", and {len(found) - 1} more" if len(found) > 1 else ""
    why = f': "{first.reason}"' if first.reason else ""
    return CoordError(
        Kind.BLOCKED,
        f"nothing claimed: task:{task} is blocked by {first.agent} since {format_stamp(first.at)}{why}{more}",
        next=way_out(first, task, me),
        data={"path": f"task:{task}", **block_object(first), "blocks": [block_object(one) for _, one in found]},
    )


def way_out(found: Block, task: str, me: Agent | None) -> str:
    """Return the next command for who would claim a task: lift the own block, ask the author of another's."""
    if found.agent != me:
        return f"git coord post --to {found.agent} 'is task:{task} still blocked?'"
    return f"git coord unblock task:{next((name for name in found.tasks if _is_within(task, [name])), task)}"


def refuse_blocked(coord: Coord, items: Iterable[Item]) -> None:
    """Raise CoordError(BLOCKED) when a task among the items is blocked; final only after a fetch in this command.

    Raises CoordError(UNKNOWN) when the remote cannot be asked and `offline` is not "allow".
    """
    asked, me = tuple(items), coord.me.agent
    found = blocked(coord.known.state, asked, me)
    if found is not None and coord.remote is not None and coord.fetched_at is None:
        try:
            fetch_and_adopt(coord, LEDGER_FAMILIES)
        except CoordError as trouble:
            if trouble.kind is not Kind.UNKNOWN or coord.settings.offline != "allow":
                raise
        found = blocked(coord.known.state, asked, me)
    if found is not None:
        raise found
