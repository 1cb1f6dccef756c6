"""What must hold of every step of a ledger, whatever the rules are by which it is taken."""

from __future__ import annotations

from .naive import Ledger
from .naive_state import Items, Statement, Waiter, items_of, seconds


def check_step(ledger: Ledger, op: Statement, key: str) -> str:
    """Place an operation, check what it did to the ledger, and return what became of it."""
    before, served = ledger.copy(), list[Waiter]()

    def look(waiter: Waiter) -> None:
        check_turn(ledger, waiter)
        served.append(waiter)

    outcome = ledger.place(op, key, look)
    leap = max(0, min(op["token"] - before.token, 1_000_000)) if op["kind"] == "replay" else 0
    check_tokens(before, ledger, (outcome in ("granted", "handed over")) + len(served) + leap)
    if ledger.is_on_hold and not ledger.is_listed(op):
        assert outcome != "granted"
        assert outcome != "handed over"
        assert not served
    check_served(ledger, served)
    check_waiting(ledger)
    ledger.check_one_writer()
    if outcome == "refused":
        assert served or holders(ledger) == holders(before)
    elif op["kind"] in ("claim", "takeover"):
        check_newcomer(before, ledger, op, outcome)
    if outcome == "granted" and op["kind"] == "takeover":
        check_gates(before, op)
    return outcome


def holders(ledger: Ledger) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Return what is held of each claim and by whom."""
    return {nonce: (held.holder, tuple(held.live)) for nonce, held in ledger.claims.items()}


def check_tokens(before: Ledger, after: Ledger, grants: int) -> None:
    """Check that every claim that is new has a token above all there ever were, and that none is left out.

    What the queue grants may be replaced at once, by what it grants the same agent next.
    """
    new = [held.token for nonce, held in after.claims.items() if nonce not in before.claims]
    assert after.token == before.token + grants
    assert set(new) <= set(range(before.token + 1, after.token + 1)), (before.token, new)
    assert [held.token for held in after.claims.values()] == sorted({held.token for held in after.claims.values()})
    for nonce, held in after.claims.items():
        assert nonce not in before.claims or held.token == before.claims[nonce].token


def check_turn(ledger: Ledger, waiter: Waiter) -> None:
    """Check that who is served now takes nothing from a waiter of another agent before it that could have it."""
    if ledger.is_on_hold:
        return  # then who was not in the lost part keeps its place, and waits
    for earlier in ledger.waiting.values():
        if earlier.queue < waiter.queue and earlier.agent != waiter.agent and ledger.meet(earlier.items, waiter.items):
            assert not ledger.could_be_served(earlier, ledger.at), (earlier, waiter)


def check_served(ledger: Ledger, served: list[Waiter]) -> None:
    """Check that who is served waited no longer than it said, and has little time to notice."""
    assert [waiter.queue for waiter in served] == sorted(waiter.queue for waiter in served)
    for waiter in served:
        held = ledger.claims.get(waiter.op["nonce"])  # gone when the same agent is served something of the same name
        assert seconds(waiter.op["wait_until"]) >= ledger.at
        assert held is None or held.certain_end == ledger.at + min(waiter.op["ttl"], 120)


def check_waiting(ledger: Ledger) -> None:
    """Check that nobody waits for itself by what is held; waiting behind a waiter lasts 600 s and may come round."""
    agents = {waiter.agent for waiter in ledger.waiting.values()}
    waits = {
        agent: {
            ledger.claims[nonce].holder
            for waiter in ledger.waiting.values()
            if waiter.agent == agent
            for nonce in ledger.holders(agent, waiter.items)
        }
        for agent in agents
    }
    for _ in agents:
        waits = {agent: found.union(*(waits.get(other, set()) for other in found)) for agent, found in waits.items()}
    assert not any(agent in found for agent, found in waits.items()), waits
    assert ledger.waiting.keys().isdisjoint(ledger.claims)
    assert [waiter.queue for waiter in ledger.waiting.values()] == sorted(w.queue for w in ledger.waiting.values())


def place_of(before: Ledger, op: Statement) -> int:
    """Return the place in the queue from which an operation asks: behind all, but for who waits for what it ends."""
    ended = {seen["claim"] for seen in op["claims"]} if op["kind"] == "takeover" else set()
    return min(
        (
            waiter.queue
            for waiter in before.waiting.values()
            if waiter.agent == op["agent"]
            and seconds(waiter.op["wait_until"]) >= seconds(op["at"])
            and any(before.meet(waiter.items, list(before.claims[nonce].live.values())) for nonce in ended)
        ),
        default=1 << 60,
    )


def check_newcomer(before: Ledger, after: Ledger, op: Statement, outcome: str) -> None:
    """Check that who is new passes nobody that began to wait in the last ten minutes, but for what it holds itself."""
    agent, at, items = op["agent"], seconds(op["at"]), items_of(op)
    mine, place = before.holds(agent), place_of(before, op)
    passed = [
        waiter
        for waiter in before.waiting.values()
        if waiter.agent != agent
        and waiter.queue < place
        and seconds(waiter.op["wait_until"]) >= at
        and at - waiter.at <= 600
        and after.meet(items, waiter.items)
        and not after.meet(mine, waiter.items)
    ]
    if outcome == "granted":
        assert not passed, (op, passed)
    elif not after.is_on_hold:
        assert passed or after.meet(items, _held_by_others(before, agent)), op


def _held_by_others(ledger: Ledger, agent: str) -> Items:
    return [item for held in ledger.claims.values() if held.holder != agent for item in held.live.values()]


def check_gates(before: Ledger, op: Statement) -> None:
    """Check that nothing was taken over from who may be alive."""
    for seen in op["claims"]:
        held, late = before.claims[seen["claim"]], seconds(op["at"]) - seconds(seen["lease_end"])
        signs = seconds(seen["lease_end"]) - held.at
        assert held.holder != op["agent"]
        assert signs >= (min(held.ttl, 120) if held.unattended else held.ttl)
        assert late > before.policy["skew"]
        others = before.keys.keys() - {op["agent"], held.holder}
        assert seen["unchanged"] >= held.ttl or (seen["witness"] in others and late > max(held.ttl, 600))
