"""A managed worktree as edit hooks see it: the flat files, and what git says of refs and settings."""

import os

from . import edit_state, git, refresh, snapshot, whose
from .edit_calls import Call
from .edit_places import Place
from .fast import RULES_FILE, mode_of, stamp_of
from .verdict import FOREIGN, LAPSED, MINE, Matcher, Picture

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

SETTINGS = r"^coord\.(repo|agent|agentworktree|mode|autoclaim|autorelease|subagents|remote|freshness)$"
# As git prints the names of settings.
AUTO_CLAIM_KEY = "coord.autoClaim".lower()
AUTO_RELEASE_KEY = "coord.autoRelease".lower()
SUBAGENTS_KEY = "coord.subagents"
AUTO_CLAIM = ("local", "confirmed", "off")

meanwhile: "list[Callable[[], None]]" = []
"""What to do while git looks, when a file is free as far as the picture goes: the full program will claim it."""


def _is_any_free(place: Place, names: list[bytes]) -> bool:
    """Guess, before git has said anything, whether a file is one that the full program will claim."""
    claims = snapshot.decode_claims(git.read_file(place.common, "coord", snapshot.CLAIMS_FILE) or b"")
    if claims is None or b"autoclaim" in (git.read_file(place.common, "config") or b"").lower():
        return False
    picture = Picture(claims, b"", 0)
    return not all(picture.flags(name) for name in names)


class View:
    """A managed worktree as the flat files show it; `mode` and `settings` as git's configuration has them."""

    def __init__(self, place: Place, settings: dict[str, str], refs: bytes) -> None:
        self.place, self.settings, self._refs = place, settings, refs
        self.mode = mode_of(settings)
        self._claims = snapshot.decode_claims(git.read_file(place.common, "coord", snapshot.CLAIMS_FILE) or b"")
        stamped = stamp_of(os.path.join(place.top, RULES_FILE))
        data = git.read_file(place.git_dir, "coord", snapshot.POLICY_FILE)
        self._policy = snapshot.decode_policy(data or b"", stamped)
        if data is None and stamped == snapshot.NO_FILE and self._claims is not None:
            self._policy = self._claims[0], []

    @classmethod
    def of(cls, place: Place, names: list[bytes] | None = None) -> "View | None":
        """Look at a worktree; None when nobody set git coord up there. Raises GitFailed when git refuses to.

        `names` are files that are about to be judged.
        """
        config = git.Process("-C", place.top, "config", "--show-scope", "--get-regexp", SETTINGS)
        line = ("for-each-ref", "--format=%(objectname) %(refname)", *git.LEDGER_REFS)
        refs = git.Process("-C", place.top, *line)
        if meanwhile and names and _is_any_free(place, names):
            meanwhile.pop()()
        status, text = config.finish()
        seen = refs.output()  # fails where git refuses the repository, which then shows no settings either
        settings = whose.parse_settings(os.fsdecode(text)) if status == 0 else {}
        return cls(place, settings, seen) if "coord.repo" in settings else None

    @property
    def own(self) -> str:
        """The name that was given to this worktree, empty when it has none of its own."""
        return whose.own_agent(self.settings, self.place.git_dir, self.place.common) or ""

    def look_after(self) -> None:
        """Have an old picture refreshed beside the edit, which does not wait for it; trouble is not the edit's."""
        import time  # built in

        folder, now = os.path.join(self.place.common, "coord"), int(time.time())
        try:
            if refresh.is_old(folder, self.settings, now):
                os.chdir(self.place.top)
                refresh.start_if_old(folder, self.settings, now)
        except OSError:
            return

    def acting(self, tool: str, call: Call) -> str | None:
        """Return the agent that the call's session is, None when that is not settled, or its name in use elsewhere."""
        apart = self.settings.get(SUBAGENTS_KEY) == "apart"
        key = edit_state.session_key(tool, call.session, call.subagent, apart=apart)
        found = edit_state.acting(self.place, key, self.own)
        if found is None or whose.is_elsewhere(self.place.git_dir, self.place.common, *found):
            return None
        return found[0]

    def is_current(self) -> bool:
        """Tell whether the flat files show the refs and rules as they are now."""
        claims, policy = self._claims, self._policy
        return bool(claims and policy and self._refs and claims[1] == self._refs and policy[0] == claims[0])

    def flags(self, me: str, name: bytes) -> int | None:
        """Return what holds for a path, None for one that is never judged; what bytes cannot tell counts as foreign."""
        assert self._claims is not None
        assert self._policy is not None
        if self._claims[0] != b"none":
            if not name.isascii():
                return FOREIGN
            name = name.lower()
        exempt = Matcher(self._policy[1], b"X").covers(name) if self._policy[1] else False
        if exempt is not False:
            return None if exempt else FOREIGN
        import time  # built in

        return Picture(self._claims, me.encode(errors="surrogateescape"), int(time.time())).flags(name)

    def is_clear(self, me: str, names: list[bytes]) -> bool:
        """Tell whether the agent may change these files without another word."""
        if not self.is_current():
            return False
        checks_only = self.settings.get(AUTO_CLAIM_KEY) == "off"
        for name in names:
            flags = self.flags(me, name)
            if flags is None:
                continue
            if flags & (FOREIGN | LAPSED):
                return False
            if flags & MINE:
                if edit_state.is_as_pinned(self.place, me, name) is not True:
                    return False
            elif not checks_only or (self._policy and self._policy[1]):
                return False
        return True
