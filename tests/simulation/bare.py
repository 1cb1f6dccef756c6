"""An agent without claims: it edits, and finds out from git who was faster."""

from __future__ import annotations

import time

from tests.simulation.tree import Edit
from tests.simulation.worker import Worker


class Bare(Worker):
    """Pulls with a rebase and pushes; after a conflict it aborts the rebase, drops its commit, does it anew."""

    def attempt(self, edit: Edit) -> bool:
        """Get an edit to the hub."""
        if self.pull() == "silent":
            return False
        self.change(edit)
        self.commit(edit)
        while time.monotonic() < self.orders.end:
            if self.push().code == 0:
                return self.landed(edit)
            if self.pull() == "conflict":
                self.journal.note("conflict", mark=edit.mark)
                break
        return self.throw_away(edit, "conflict")

    def tidy(self, *, at_the_end: bool = False) -> None:
        """Do nothing: dead agents leave nothing that anybody knows of."""
