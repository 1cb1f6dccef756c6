"""The checker accepts what can have happened and refuses what cannot; on small histories it is compared with trying."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.linear.checker import NEVER, Op, State, is_linearizable, step


def claim(agent: str, start: float, end: float, token: int) -> Op:
    return Op(start, end, agent, "claim", "p", "granted", token)


def refused(agent: str, start: float, end: float, holder: str) -> Op:
    return Op(start, end, agent, "claim", "p", "refused", holder)


def release(agent: str, start: float, end: float, result: str = "released") -> Op:
    return Op(start, end, agent, "release", "p", result)


def read(agent: str, start: float, end: float, holder: str) -> Op:
    return Op(start, end, agent, "read", "p", "held", holder)


def unknown(agent: str, start: float, verb: str = "claim") -> Op:
    return Op(start, start + 1, agent, verb, "p", "unknown")


ACCEPTED = {
    "nothing": [],
    "one after the other": [claim("a", 0, 1, 1), release("a", 2, 3), claim("b", 4, 5, 2)],
    "a refusal beside the claim it names": [refused("b", 0, 9, "a"), claim("a", 5, 6, 1)],
    "a grant that overtakes a release still running": [claim("a", 0, 1, 1), release("a", 2, 9), claim("b", 3, 4, 2)],
    "a claim of what is one's own": [claim("a", 0, 1, 1), claim("a", 2, 3, 2)],
    "a read of either side of a claim beside it": [claim("a", 0, 9, 1), read("b", 1, 2, ""), read("c", 3, 4, "a")],
    "an unknown claim that happened": [unknown("a", 0), refused("b", 2, 3, "a")],
    "an unknown claim that did not happen": [unknown("a", 0), claim("b", 2, 3, 1)],
    "an unknown claim that happened late": [unknown("a", 0), read("b", 2, 3, ""), read("b", 4, 5, "a")],
    "an unknown claim that took itself back": [unknown("a", 0), refused("b", 2, 3, "a"), claim("b", 4, 5, 2)],
    "an unknown release that happened": [claim("a", 0, 1, 1), unknown("a", 2, "release"), claim("b", 4, 5, 2)],
    "an unknown release that did not": [claim("a", 0, 1, 1), unknown("a", 2, "release"), refused("b", 4, 5, "a")],
    "a release of what is somebody else's": [claim("a", 0, 1, 1), release("b", 2, 3, "not held")],
    "paths apart": [claim("a", 0, 1, 2), claim("b", 2, 3, 1)._replace(path="q")],
}
REFUSED = {
    "a double grant": [claim("a", 0, 1, 1), claim("b", 2, 3, 2)],
    "a double grant, side by side": [claim("a", 0, 5, 1), claim("b", 1, 6, 2)],
    "a lost update": [claim("a", 0, 1, 1), read("b", 2, 3, "")],
    "a lost release": [claim("a", 0, 1, 1), release("a", 2, 3), refused("b", 4, 5, "a")],
    "a stale read": [claim("a", 0, 1, 1), release("a", 2, 3), claim("b", 4, 5, 2), read("c", 6, 7, "a")],
    "reads that go back": [claim("a", 0, 9, 1), read("b", 1, 2, "a"), read("c", 3, 4, "")],
    "a release by who does not hold it": [claim("a", 0, 1, 1), release("b", 2, 3)],
    "a release of what is free": [release("a", 0, 1)],
    "a release twice": [claim("a", 0, 1, 1), release("a", 2, 3), release("a", 4, 5)],
    "a holder told that it holds nothing": [claim("a", 0, 1, 1), release("a", 2, 3, "not held")],
    "a refusal by nobody": [refused("a", 0, 1, "b")],
    "a refusal by oneself": [claim("a", 0, 1, 1), refused("a", 2, 3, "a")],
    "a refusal that names the wrong holder": [claim("a", 0, 1, 1), refused("b", 2, 3, "c")],
    "a token that goes back": [claim("a", 0, 1, 2), release("a", 2, 3), claim("b", 4, 5, 1)],
    "a token twice": [claim("a", 0, 1, 1), release("a", 2, 3), claim("b", 4, 5, 1)],
    "an unknown claim before it began": [refused("b", 0, 1, "a"), unknown("a", 2)],
    "an unknown claim that happened twice": [
        unknown("a", 0),
        refused("b", 2, 3, "a"),
        claim("b", 4, 5, 2),
        release("b", 6, 7),
        refused("b", 8, 9, "a"),
    ],
    "one path right, another wrong": [claim("a", 0, 1, 1)._replace(path="q"), release("a", 2, 3)],
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_what_can_have_happened_is_accepted(name: str) -> None:
    assert is_linearizable(ACCEPTED[name])
    assert is_linearizable(reversed(ACCEPTED[name]))


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_have_happened_is_refused(name: str) -> None:
    assert not is_linearizable(REFUSED[name])
    assert not is_linearizable(reversed(REFUSED[name]))


def test_a_result_that_nobody_can_see_is_a_mistake_of_the_recorder() -> None:
    with pytest.raises(ValueError, match="claim: released"):
        is_linearizable([Op(0, 1, "a", "claim", "p", "released")])


RESULTS = st.sampled_from(
    [
        ("claim", "granted", 1),
        ("claim", "granted", 2),
        ("claim", "refused", "a"),
        ("claim", "refused", "b"),
        ("release", "released", ""),
        ("release", "not held", ""),
        ("read", "held", ""),
        ("read", "held", "a"),
    ]
)
OPS = st.builds(
    lambda agent, what, start, length: Op(start, start + length, agent, what[0], "p", what[1], what[2]),
    st.sampled_from("ab"),
    RESULTS,
    st.integers(0, 8),
    st.integers(1, 4),
)


@settings(max_examples=300, deadline=None)
@given(st.lists(OPS, max_size=5))
def test_the_search_agrees_with_trying_every_order(ops: list[Op]) -> None:
    assert is_linearizable(ops) is any(explains(order) for order in permutations(ops))


def explains(order: tuple[Op, ...]) -> bool:
    """Tell whether this very order is allowed and gives these results."""
    if any(later.end < earlier.start for i, earlier in enumerate(order) for later in order[i + 1 :]):
        return False
    state: State | None = State()
    for op in order:
        state = step(state, op) if state is not None else None
    return state is not None


def test_a_long_history_of_many_agents_is_searched_at_once() -> None:
    ops = []
    for turn in range(200):
        agent, start = f"a{turn % 40}", 10 * turn
        ops += [claim(agent, start - 200, start + 3, turn + 1), release(agent, start + 4, start + 205)]
        ops.append(refused("x", start - 9, start + 9, agent))
    assert is_linearizable(ops)
    assert not is_linearizable([*ops, read("x", 5000, 5001, "nobody")])
    assert NEVER > 5000
