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


def gave_up(agent: str, start: float, end: float) -> Op:
    return Op(start, end, agent, "claim", "p", "waited")


def takeover(agent: str, start: float, end: float, token: int) -> Op:
    return Op(start, end, agent, "takeover", "p", "granted", token)


def hand(agent: str, start: float, end: float, to: str, token: int) -> Op:
    return Op(start, end, agent, "hand", "p", "handed", (to, token))


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
    "a claim that waited for a release": [claim("a", 0, 1, 1), claim("b", 2, 9, 2), release("a", 7, 8)],
    "two that wait, served in turn": [
        claim("a", 0, 1, 1),
        claim("b", 2, 9, 2),
        claim("c", 3, 19, 3),
        release("a", 7, 8),
        release("b", 17, 18),
    ],
    "one that gave up waiting": [claim("a", 0, 1, 1), gave_up("b", 2, 9), release("a", 10, 11)],
    "a takeover": [claim("a", 0, 1, 1), takeover("b", 2, 3, 2), release("a", 4, 5, "not held"), release("b", 6, 7)],
    "a takeover beside the release it overtook": [
        claim("a", 0, 1, 1),
        release("a", 2, 9, "not held"),
        takeover("b", 3, 4, 2),
    ],
    "an unknown takeover that happened": [claim("a", 0, 1, 1), unknown("b", 2, "takeover"), read("c", 4, 5, "b")],
    "an unknown takeover that did not": [claim("a", 0, 1, 1), unknown("b", 2, "takeover"), read("c", 4, 5, "a")],
    "a hand-over": [claim("a", 0, 1, 1), hand("a", 2, 3, "b", 2), refused("a", 4, 5, "b"), release("b", 6, 7)],
    "a hand-over that passes who waits": [
        claim("a", 0, 1, 1),
        claim("c", 2, 9, 3),
        hand("a", 3, 4, "b", 2),
        release("b", 7, 8),
    ],
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
    "a claim that waited and was served before the release": [
        claim("a", 0, 1, 1),
        claim("b", 2, 3, 2),
        release("a", 7, 8),
    ],
    "one that gave up waiting for what was free": [
        claim("a", 0, 1, 1),
        release("a", 2, 3),
        gave_up("b", 4, 5),
        claim("b", 6, 7, 2),
    ],
    "one that gave up waiting and had it": [
        claim("a", 0, 1, 1),
        gave_up("b", 2, 3),
        release("a", 4, 5),
        read("c", 6, 7, "b"),
    ],
    "one that waited for itself": [claim("a", 0, 1, 1), gave_up("a", 2, 3)],
    "a takeover of what is free": [takeover("a", 0, 1, 1)],
    "a takeover of one's own": [claim("a", 0, 1, 1), takeover("a", 2, 3, 2)],
    "a takeover under the old token": [claim("a", 0, 1, 1), takeover("b", 2, 3, 1)],
    "two takeovers of one claim, both sure": [
        claim("a", 0, 1, 1),
        takeover("b", 2, 9, 2),
        takeover("c", 3, 8, 3),
        read("b", 10, 11, "b"),
        read("c", 12, 13, "c"),
    ],
    "a release after a takeover": [claim("a", 0, 1, 1), takeover("b", 2, 3, 2), release("a", 4, 5)],
    "a hand-over by who does not hold it": [claim("a", 0, 1, 1), hand("b", 2, 3, "c", 2)],
    "a hand-over to oneself": [claim("a", 0, 1, 1), hand("a", 2, 3, "a", 2)],
    "a hand-over under the old token": [claim("a", 0, 1, 1), hand("a", 2, 3, "b", 1)],
    "a giver that keeps what it handed over": [claim("a", 0, 1, 1), hand("a", 2, 3, "b", 2), release("a", 4, 5)],
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
        ("claim", "waited", ""),
        ("takeover", "granted", 2),
        ("takeover", "granted", 3),
        ("hand", "handed", ("b", 3)),
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
