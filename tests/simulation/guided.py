"""An agent with claims: it looks around, claims, waits its turn, takes over what dead ones hold, and gives back."""

from __future__ import annotations

import json
import time
from typing import Any

from tests.simulation.journal import pause
from tests.simulation.tree import Edit
from tests.simulation.worker import Worker

LOST, UNKNOWN, STALE = 4, 5, 7


class Guided(Worker):
    """Does what the answers of `git coord` say."""

    _tidied = 0.0

    def attempt(self, edit: Edit) -> bool:
        """Get an edit to the hub, under a claim on all its files."""
        self.tidy()
        token = self._claimed(edit)
        if token is None:
            return False
        try:
            return self._under_claim(edit, token)
        finally:
            self.coord("release", f"#{token}", "--reason", "done")

    def _claimed(self, edit: Edit) -> int | None:
        """Look around, then claim, and wait for who is in the way; not for a holder that is gone."""
        code, look = self.coord("preflight", *edit.files)
        if code == STALE and not self._took_over(
            [row["path"] for row in look["resources"] if row["status"] == "stale"]
        ):
            pause(1.0)
            return None
        code, answer = self.coord("claim", *edit.files, "--ttl", self.ttl, "--wait", self.patience, "-m", edit.mark)
        if code == UNKNOWN:
            pause(1.0)
        return int(answer["token"]) if code == 0 else None

    def _took_over(self, names: list[str]) -> bool:
        """Take over what holders that are gone have of these; what is claimed next replaces it."""
        code, answer = self.coord("takeover", *names, "--ttl", self.ttl)
        if code == 0:
            self.journal.note("took over", tokens=[claim["token"] for claim in answer["claims"]])
        return code == 0

    def _under_claim(self, edit: Edit, token: int) -> bool:
        """Edit, commit and push; whenever a guard refuses, ask whether the claim is still ours."""
        if (found := self._pulled()) != "done":
            return self._stop(edit, found)
        self.change(edit)
        for _ in range(3):
            if self.commit(edit).code == 0:
                break
            if not self._is_mine(token):
                return self.throw_away(edit, "lost")
        for _ in range(40):
            if self.push().code == 0:
                return self.landed(edit)
            if not self._is_mine(token):
                return self.throw_away(edit, "lost")
            if (found := self._pulled()) != "done":
                return self._stop(edit, found)
        return self.throw_away(edit, "not let in")

    def _pulled(self) -> str:
        found = "silent"
        while found == "silent" and time.monotonic() < self.orders.end:
            found = self.pull()
        return found

    def _stop(self, edit: Edit, why: str) -> bool:
        if why == "conflict":
            self.journal.note("conflict", mark=edit.mark)
        return self.throw_away(edit, why)

    def _is_mine(self, token: int) -> bool:
        """Renew the claim, which says whether it is still ours; while the hub does not confirm that, ask again."""
        while time.monotonic() < self.orders.end:
            code, answer = self.coord("renew", f"#{token}", "--ttl", self.ttl)
            if code not in (0, UNKNOWN) or answer.get("confirmed"):
                return code == 0
            pause(1.0)
        return False

    def tidy(self, *, at_the_end: bool = False) -> None:
        """Now and then take over what holders that are gone still hold; at the end, until nothing is left."""
        if not at_the_end and time.monotonic() < self._tidied + self.orders.ttl:
            return
        self._tidied = time.monotonic()
        while self._take_over_what_is_stale() and at_the_end and time.monotonic() < self.orders.end:
            pause(1.0)

    def _take_over_what_is_stale(self) -> bool:
        """Tell whether others still hold something that will have to be taken over."""
        code, answer = self.coord("status")
        others = [claim for claim in answer.get("claims", []) if claim["agent"] != self.agent]
        stale = [claim for claim in others if claim["holder_stale"]]
        for claim in stale if code == 0 else ():
            code, taken = self.coord("takeover", f"#{claim['token']}", "--ttl", self.ttl)
            if code == 0:
                self.journal.note("took over", tokens=[claim["token"]])
                self.coord("release", f"#{taken['token']}", "--reason", "ejected")
        return bool(others if self.orders.is_last else stale)

    @property
    def ttl(self) -> str:
        """Return the lease as an option."""
        return f"{self.orders.ttl}s"

    @property
    def patience(self) -> str:
        """Return how long to wait, as an option; who waits keeps others from taking over what it waits for."""
        return f"{self.orders.ttl * 3 // 2}s"

    def coord(self, *args: str) -> tuple[int, dict[str, Any]]:
        """Run `git coord … --json`; what went wrong, and what was said, goes into the journal."""
        begun = time.monotonic()
        done = self.repo.coord(*args, "--json")
        answer = json.loads(done.out) if done.out.strip() else {}
        took = round(time.monotonic() - begun, 2)
        said = done.out[:2000] if done.code else ""
        self.journal.note("ran", args=args, code=done.code, took=took, out=said, err=done.err)
        return done.code, answer
