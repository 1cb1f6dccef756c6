"""One verdict for pre-push and CI: which paths of which commits go against a claim (section 7 of the design).

Pure: ledger positions and ancestry inside the judged range decide, never dates, clocks or what a clone has beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from .carried import Pair, Step, is_carried, still_open
from .commits import Delta, UserCommit
from .evidence import Attested, Breach, Evidence, Violation
from .holding import covering, may_edit
from .ids import Agent, Oid
from .items import Item
from .state import LiveClaim, State


def judge(commits: Sequence[UserCommit], evidence: Evidence) -> list[Violation]:
    """Return every violation of commits that are listed parents first.

    For each path that is not exempt: 1. A receipt by X at head H, where X held it for edit: passes. 2. A receipt at
    H, where another held it against X: a violation, even if released since. 3. Else a foreign claim that is live at
    the newest head is one, unless the claim's base contains the commit. 4. A bypass that a receipt records is one
    wherever 1 does not hold. 5. So is a path that the rules want claimed. 6. None of them is one when the change is
    carried work: of a merge commit what git's own clean merge makes, else receipted changes applied as git would.
    """
    court = _Court(commits, evidence)
    deltas = ((commit, delta) for commit in commits for delta in commit.judged)
    return [found for commit, delta in deltas if (found := court.verdict(commit, delta))]


class _Court:
    """The evidence made ready for one range of commits."""

    def __init__(self, commits: Sequence[UserCommit], evidence: Evidence) -> None:
        self._evidence = evidence
        self._parents = {commit.oid: commit.parents for commit in commits}
        self._counting = counting(commits, evidence.receipts)
        self._below: dict[Oid, set[Oid]] = {}
        self._covering: dict[tuple[int, str], list[tuple[LiveClaim, Item]]] = {}
        self._lately: dict[str, list[Pair]] = {}

    def verdict(self, commit: UserCommit, delta: Delta) -> Violation | None:
        path, receipts = delta.path, self._counting[commit.oid]
        if self._evidence.rules.is_exempt(path) or any(self._passes(receipt, path) for receipt in receipts):  # 1
            return None
        then = next((claim for r in receipts for claim in self._against(r.state, path, {r.agent})), None)
        now = then or self._live_against(commit, delta, {receipt.agent for receipt in receipts})
        kind = None
        if any(receipt.entry.bypass for receipt in receipts):
            kind = Breach.BYPASS  # 4
        elif then is not None:
            kind = Breach.HELD_THEN  # 2
        elif now is not None:
            kind = Breach.HELD_NOW if receipts else Breach.NO_RECEIPT  # 3
        elif self._evidence.rules.needs_claim(path) and not self._is_claimed(delta, receipts):
            kind = Breach.UNCLAIMED  # 5
        if kind is None or self._is_carried(commit, delta) or self._is_given_up(commit, delta, now):  # 6
            return None
        agents = tuple(dict.fromkeys(receipt.agent for receipt in receipts))
        is_live = now is None or now.op in self._evidence.newest.claims
        return Violation(commit.oid, delta, kind, now, agents, is_live)

    def _passes(self, receipt: Attested, path: str) -> bool:
        """Tell whether its author held the path for edit when it was made, and nobody else anything against that."""
        covering = self._cover(receipt.state, path)
        own = any(may_edit(item, path) for claim, item in covering if claim.holder == receipt.agent)
        return own and all(claim.holder == receipt.agent for claim, _ in covering)

    def _against(self, state: State, path: str, authors: set[Agent]) -> Iterator[LiveClaim]:
        return (claim for claim, _ in self._cover(state, path) if claim.holder not in authors)

    def _live_against(self, commit: UserCommit, delta: Delta, authors: set[Agent]) -> LiveClaim | None:
        claims = self._against(self._evidence.newest, delta.path, authors)
        return next((claim for claim in claims if not self._is_known_to(claim, commit.oid)), None)

    def _is_known_to(self, claim: LiveClaim, commit: Oid) -> bool:
        """Tell whether the claimer had the commit when it claimed."""
        return any(base is not None and commit in self._ancestors(base) for base in claim.base)

    def _ancestors(self, tip: Oid) -> set[Oid]:
        """Return the commits of the range that the tip contains, itself too; nothing for a tip outside it."""
        if tip not in self._below:
            found, todo = set[Oid](), [tip]
            while todo:
                oid = todo.pop()
                if oid in self._parents and oid not in found:
                    found.add(oid)
                    todo.extend(self._parents[oid])
            self._below[tip] = found
        return self._below[tip]

    def _is_carried(self, commit: UserCommit, delta: Delta) -> bool:
        """Tell whether the change is nobody's new work: squashed, rebased or merged as git does it by itself."""
        means = self._evidence.means
        if means is None:
            return False
        if any(means.granted_later(receipt, delta.path) for receipt in self._free_then(commit, delta)):
            return True
        befores = means.merged(commit, delta) if len(commit.parents) > 1 else (delta.old,)
        if befores == (delta.new,):
            return True
        steps = self._steps(delta.path)
        steps = still_open(steps, means.past(commit, delta.path)) if steps else []
        lately = self._lately.setdefault(delta.path, [])
        return bool(steps) and all(is_carried(before, delta.new, steps, means.merge, lately) for before in befores)

    def _is_given_up(self, commit: UserCommit, delta: Delta, claim: LiveClaim | None) -> bool:
        """Tell whether a merge that kept one side dropped only its author's work, or some that is nowhere yet.

        What the holder made nobody else drops, nor what is known to come from nobody.
        """
        means, mine = self._evidence.means, {receipt.agent for receipt in self._counting[commit.oid]}
        if means is None or delta.new not in delta.olds or len(commit.parents) < 2:
            return False
        authors: dict[Oid, set[Agent]] = {}
        for receipt in self._evidence.listed.get(delta.path, ()):
            authors.setdefault(receipt.entry.commit, set()).add(receipt.agent)
        dropped = means.given_up(commit, delta)
        return bool(dropped) and all(
            (by := authors.get(one, set[Agent]()))
            and (by <= mine or (one in self._parents and not (claim and claim.holder in by)))
            for one in dropped
        )

    def _free_then(self, commit: UserCommit, delta: Delta) -> Iterator[Attested]:
        receipts = self._counting[commit.oid]
        return (r for r in receipts if not r.entry.bypass and not self._cover(r.state, delta.path))

    def _steps(self, path: str) -> list[Step]:
        """Return the changes at a path that receipts list and that may be carried on: those that pass themselves."""
        return [
            Step(touched.before, touched.after, receipt.agent, (receipt.position, *receipt.order), receipt.entry.commit)
            for receipt in self._evidence.listed.get(path, ())
            if not receipt.entry.bypass and self._counts(receipt) and self._vouches(receipt, path)
            for touched in receipt.entry.paths
            if touched.path == path
        ]

    def _vouches(self, receipt: Attested, path: str) -> bool:
        """Tell whether its author held the path, or nobody did and nobody else does by now."""
        if self._passes(receipt, path):
            return True
        means = self._evidence.means
        if self._cover(receipt.state, path):
            return False
        if means is not None and means.granted_later(receipt, path):
            return True
        now = self._cover(self._evidence.newest, path)
        own = any(may_edit(item, path) for claim, item in now if claim.holder == receipt.agent)
        return all(claim.holder == receipt.agent for claim, _ in now) and (
            own or not self._evidence.rules.needs_claim(path)
        )

    def _counts(self, receipt: Attested) -> bool:
        inside = self._counting.get(receipt.entry.commit)
        return inside is None or any((r.agent, r.order) == (receipt.agent, receipt.order) for r in inside)

    def _is_claimed(self, delta: Delta, receipts: Sequence[Attested]) -> bool:
        """Tell whether an author holds it by now: a claim placed late."""
        now = self._cover(self._evidence.newest, delta.path)
        holders = {claim.holder for claim, item in now if may_edit(item, delta.path)}
        return any(receipt.agent in holders for receipt in receipts)

    def _cover(self, state: State, path: str) -> list[tuple[LiveClaim, Item]]:
        key = (id(state), path)
        if key not in self._covering:
            self._covering[key] = covering(state, path)
        return self._covering[key]


def counting(
    commits: Sequence[UserCommit], receipts: Mapping[Oid, Sequence[Attested]]
) -> dict[Oid, tuple[Attested, ...]]:
    """Return for each commit the receipts that count: none naming an older head than one by its agent on an ancestor.

    A picture cannot get older from a commit to the next: who signs that it did has chosen a head that suits.
    """
    seen: dict[Oid, dict[Agent, int]] = {}
    kept: dict[Oid, tuple[Attested, ...]] = {}
    for commit in commits:
        before = _newest_positions([seen[parent] for parent in commit.parents if parent in seen])
        fitting = tuple(r for r in receipts.get(commit.oid, ()) if r.position >= before.get(r.agent, 0))
        kept[commit.oid] = fitting
        added = {r.agent: max(o.position for o in fitting if o.agent == r.agent) for r in fitting}
        seen[commit.oid] = {**before, **added} if added else before
    return kept


def _newest_positions(sides: Sequence[dict[Agent, int]]) -> dict[Agent, int]:
    if len(sides) == 1:
        return sides[0]
    merged: dict[Agent, int] = {}
    for side in sides:
        for agent, position in side.items():
            merged[agent] = max(position, merged.get(agent, 0))
    return merged
