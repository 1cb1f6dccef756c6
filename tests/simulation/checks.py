"""What must be true of a run with claims."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tests.model.naive_state import seconds
from tests.simulation.journal import Entry
from tests.simulation.ledger import Taken, Walk
from tests.simulation.outcome import Outcome
from tests.simulation.plan import SKEW

LOST = 4


def faults(outcome: Outcome, walk: Walk) -> list[str]:
    """Return everything that is not as promised; `walk` has looked at the ledger's every position already."""
    checks = (_history, _mishaps, _takeovers, _queue, _told, _door)
    return [fault for check in checks for fault in check(outcome, walk)]


def _history(outcome: Outcome, _walk: Walk) -> Iterator[str]:
    """Each edit that a claim was granted for, and that landed, is there once; none undid another."""
    yield from outcome.history_faults()
    figures = outcome.figures()
    if figures.lost_updates or figures.conflicts:
        yield f"{figures.lost_updates} lost updates and {figures.conflicts} conflicts under claims"
    if figures.unfinished:
        yield f"{figures.unfinished} edits of agents that lived never landed"
    if figures.thrown_away != figures.by_trouble:
        yield f"{figures.thrown_away - figures.by_trouble} commits thrown away for a conflict"


def _mishaps(outcome: Outcome, _walk: Walk) -> Iterator[str]:
    """What the plan says was done to agents that held something, and everybody else ended by itself."""
    for mishap in outcome.plan.mishaps:
        if mishap.agent not in outcome.done_to(mishap.kind):
            yield f"{mishap.agent} was not {mishap.kind}"
    codes = {agent: entry["code"] for agent, entry in outcome.done_to("status").items()}
    for agent, code in codes.items():
        # Who was away has lost its shift too, so that `run` says 4 only if it had to stop it.
        if (code == 0) is (agent in outcome.done_to("killed")):
            yield f"{agent} ended with {code}"


def _takeovers(outcome: Outcome, walk: Walk) -> Iterator[str]:
    """What dead agents held was taken over, each after a full lease of silence, by what the hub itself has of them."""
    for agent in outcome.done_to("killed"):
        taken = [each for each in walk.taken if each.holder == agent]
        if {agent} & set(walk.held_at_the_end.values()):
            yield f"{agent} is dead and still holds something"
        if len(taken) < 2:
            yield f"of {agent}, who held a file and its shift, {len(taken)} claims were taken over"
    for each in walk.taken:
        yield from _gates(outcome, each)


def _gates(outcome: Outcome, taken: Taken) -> Iterator[str]:
    """A takeover rests on a full lease of silence, by its taker's word and by what the holder itself did last.

    Guards let a push pass as long as the holder is vouched for, which ends a skew before its lease; others take over a
    skew after it. So much is certain on a machine of any load, where who lives may be silent for too long, too.
    """
    if taken.seen["unchanged"] < taken.ttl:
        yield f"#{taken.token} was watched for {taken.seen['unchanged']} s of {taken.ttl}"
    if taken.at <= seconds(taken.seen["lease_end"]) + SKEW:
        yield f"#{taken.token} was taken over before its lease was over"
    last = outcome.landings(taken.holder, before=taken.at)
    if last and taken.at < int(max(last)) + SKEW:
        yield f"#{taken.token} was taken over {taken.at - max(last):.0f} s after {taken.holder} pushed what landed"


def _queue(_outcome: Outcome, walk: Walk) -> Iterator[str]:
    """Who waited was served, or left; the walk checked that nobody was passed."""
    if walk.waiting_at_the_end:
        yield f"still in the queue: {walk.waiting_at_the_end}"
    if walk.queued != walk.served + walk.left.total():
        yield f"{walk.queued} waited, {walk.served} were served, {walk.left} left"
    if not walk.queued:
        yield "nobody had to wait"


def _told(outcome: Outcome, walk: Walk) -> Iterator[str]:
    """Who was away has been told who took which of its claims, and was stopped with exit 4.

    Who stood still learns it from the very next command about its claim; who was cut off was stopped before that, when
    nobody could vouch for the claim any more.
    """
    for agent in outcome.done_to("back"):
        taken = [each for each in walk.taken if each.holder == agent]
        said = outcome.said_to(agent)
        for each in taken:
            if not re.search(rf"#{each.token} .*taken over by {each.by} ", said):
                yield f"{agent} was not told that {each.by} took over #{each.token}"
        if not taken:
            yield f"nobody took over from {agent}"
        elif not any(_is_stopped(entry) for entry in outcome.of(agent, "ran")):
            yield f"no command of {agent} ended with 4"
    for agent in outcome.done_to("stopped"):
        back = outcome.done_to("back")[agent]["t"]
        first = next((one for one in outcome.of(agent, "ran") if one["t"] > back and one["args"] != ["push"]), None)
        if first is None or not _is_stopped(first) or "taken over by" not in first["out"]:
            yield f"the next command of {agent} after it stood still: {first}"


def _is_stopped(ran: Entry) -> bool:
    return ran["args"][0] in ("renew", "release") and ran["code"] == LOST


def _door(outcome: Outcome, _walk: Walk) -> Iterator[str]:
    """CI's door finds nothing in the whole of main, in a clone of depth 1 that was never set up."""
    ci = outcome.stage.clone("ci", "--depth", "1")
    done = ci.coord("verify", f"{outcome.stage.first}..HEAD")
    if done.code != 0:
        yield f"git coord verify: exit {done.code}\n{done.out}{done.err}"
