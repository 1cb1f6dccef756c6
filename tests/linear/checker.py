"""Says whether a history could have come from one thing after another (Wing and Gong's search, states remembered)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

FREE = ""
NEVER = math.inf
"""The end of an operation of which nobody knows what became: it may take effect at any later time, or not at all."""


class Op(NamedTuple):
    """One operation as its caller saw it.

    | verb | result | argument |
    |---|---|---|
    | claim | granted | token |
    | claim | refused | holder |
    | claim | waited | "": it gave up, and had been in the queue until then |
    | takeover | granted | token |
    | hand | handed | receiver and the token it drew |
    | release | released, "not held" | |
    | read | held | holder, FREE for none |
    | any | unknown | |

    A claim that waits is one that returns later: it takes effect when the queue serves it.
    """

    start: float
    end: float
    agent: str
    verb: str
    path: str
    result: str
    argument: str | int | tuple[str, int] = FREE


class State(NamedTuple):
    """Who holds the path, and the last token that was granted."""

    holder: str = FREE
    token: int = 0


def is_linearizable(history: Iterable[Op]) -> bool:
    """Tell whether some order explains every result; paths are independent, so each is looked at alone."""
    paths: dict[str, list[Op]] = {}
    for op in history:
        paths.setdefault(op.path, []).extend(_with_doubts(op))
    return all(_search(ops) for ops in paths.values())


def _with_doubts(op: Op) -> Iterator[Op]:
    """Yield the operation; a claim that ends without an answer takes itself back, at some time or never."""
    if op.result != "unknown":
        yield op
    elif op.verb != "read":
        yield op._replace(end=NEVER)
        if op.verb == "claim":
            yield op._replace(verb="release", end=NEVER)


def _search(ops: Sequence[Op]) -> bool:
    certain = sum(1 << i for i, op in enumerate(ops) if op.result != "unknown")
    todo = [((1 << len(ops)) - 1, State())]
    known = set(todo)
    while todo:
        left, state = todo.pop()
        if not left & certain:
            return True
        for i in _next(ops, left):
            after = step(state, ops[i])
            found = (left & ~(1 << i), after or state)
            if after is not None and found not in known:
                known.add(found)
                todo.append((found[0], after))
    return False


def _next(ops: Sequence[Op], left: int) -> list[int]:
    """Return the operations that may come next: none that is left had ended before they began."""
    rest = [i for i in range(len(ops)) if left >> i & 1]
    first_end = min(ops[i].end for i in rest)
    return [i for i in rest if ops[i].start <= first_end]


def step(state: State, op: Op) -> State | None:
    """Return the state after an operation, None when it cannot have this result here."""
    rule = _RULES.get((op.verb, op.result))
    if rule is None:
        raise ValueError(f"nobody can see {op.verb}: {op.result}")
    return rule(state, op)


def _granted(state: State, op: Op) -> State | None:
    assert isinstance(op.argument, int), op
    return State(op.agent, op.argument) if state.holder in (FREE, op.agent) and op.argument > state.token else None


def _granted_unseen(state: State, op: Op) -> State | None:
    return State(op.agent, state.token) if state.holder in (FREE, op.agent) else None


def _refused(state: State, op: Op) -> State | None:
    return state if state.holder == op.argument and state.holder not in (FREE, op.agent) else None


def _waited(state: State, op: Op) -> State | None:
    return state if state.holder not in (FREE, op.agent) else None


def _taken_over(state: State, op: Op) -> State | None:
    assert isinstance(op.argument, int), op
    return State(op.agent, op.argument) if state.holder not in (FREE, op.agent) and op.argument > state.token else None


def _taken_over_unseen(state: State, op: Op) -> State | None:
    return State(op.agent, state.token) if state.holder not in (FREE, op.agent) else None


def _handed(state: State, op: Op) -> State | None:
    assert isinstance(op.argument, tuple), op
    to, token = op.argument
    return State(to, token) if state.holder == op.agent != to and token > state.token else None


def _released(state: State, op: Op) -> State | None:
    return State(FREE, state.token) if state.holder == op.agent else None


def _not_held(state: State, op: Op) -> State | None:
    return state if state.holder != op.agent else None


def _held(state: State, op: Op) -> State | None:
    return state if state.holder == op.argument else None


_RULES = {
    ("claim", "granted"): _granted,
    ("claim", "unknown"): _granted_unseen,
    ("claim", "refused"): _refused,
    ("claim", "waited"): _waited,
    ("takeover", "granted"): _taken_over,
    ("takeover", "unknown"): _taken_over_unseen,
    ("takeover", "refused"): _refused,
    ("hand", "handed"): _handed,
    ("hand", "not held"): _not_held,
    ("release", "released"): _released,
    ("release", "unknown"): _released,
    ("release", "not held"): _not_held,
    ("read", "held"): _held,
}
