"""The edit hook's fast path: say "nothing in the way" when that is beyond doubt, else let the full program decide.

Whatever cannot be read of a payload is no reason to deny: there is no path to judge, so nothing is said of it, with a
word on stderr. Whatever cannot be found out about a path of a managed repository is never "free".
"""

import json
import os
import sys

from . import edit_state, edit_tree, git
from .edit_calls import Call, dialect, read_call
from .edit_places import Place, place_at, place_of, real_paths
from .edit_view import AUTO_RELEASE_KEY, View
from .fast import MODES, is_bypassed
from .verdict import FOREIGN, MINE

LOCAL_ENV = (
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
)
"""What a git above us may have set for its own repository: here the path of the file decides."""
Group = tuple[Place, list[bytes]]
seen: dict[str, View | None] = {}
"""Worktrees that this process has looked at before it handed over, by their tops: None was not managed."""
tops: list[str] = []
"""All worktrees of the call that was handed over."""


class Answer:
    """What the hook prints on stdout, and on stderr; the exit status is 0."""

    __slots__ = ("err", "out")

    def __init__(self, out: str = "", err: str = "") -> None:
        self.out, self.err = out, err


def quick(tool: str, event: str, data: bytes) -> Answer | None:
    """Return the answer when it needs no more than the picture at hand, None when the full program has to decide."""
    for name in LOCAL_ENV:
        os.environ.pop(name, None)
    payload = parse(data)
    if isinstance(payload, str):
        return not_understood(tool, event, payload)
    tool = dialect(tool, payload)
    if event not in ("pre-edit", "post-edit"):
        return None
    call = read_call(tool, payload, here())
    if call.problem:
        return not_understood(tool, event, call.problem)
    if is_bypassed():
        return allowing(tool, event, [])
    try:
        return _before(tool, call) if event == "pre-edit" else _after(tool, call)
    except (OSError, ValueError, LookupError, git.GitFailed):
        return None


def here() -> str:
    """Return the folder we were started in; one that is gone is no reason to let anything pass."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        return "/"


def parse(data: bytes) -> dict[str, object] | str:
    """Return the payload, or why it is none."""
    try:
        found = json.loads(data.decode("utf-8", "surrogateescape"))
    except (ValueError, RecursionError):
        return "the hook was given no JSON"
    return found if isinstance(found, dict) else "the hook was given no JSON object"


def not_understood(tool: str, event: str, why: str) -> Answer:
    """Return the answer for what cannot be read: it is let pass, and said."""
    return Answer(allowing(tool, event, []).out, f"git coord: {why}; nothing was checked\n")


def allowing(tool: str, event: str, notes: list[str]) -> Answer:
    """Return "no objection" as the tool wants to hear it; notes go to the model where the tool lets them through."""
    text = "\n".join(notes)
    if tool == "cursor":
        more = {"agent_message": text} if text else {}
        return Answer(json.dumps({"permission": "allow", **more}) if event == "pre-edit" else "{}")
    if tool == "opencode":
        return Answer(json.dumps({"deny": False, "notes": text}))
    if tool == "claude-code" and text:
        name = "PreToolUse" if event == "pre-edit" else "PostToolUse"
        return Answer(json.dumps({"hookSpecificOutput": {"hookEventName": name, "additionalContext": text}}))
    return Answer("", f"{text}\n" if text else "")


def groups(call: Call) -> list[Group]:
    """Return the files that a call would change, by the worktree that has them; others are nobody's here."""
    found: dict[str, Group] = {}
    for name, is_link in call.targets:
        for path in real_paths(name, call.cwd, is_link=is_link):
            place = place_of(path)
            if place is not None:
                names = found.setdefault(place.top, (place, []))[1]
                names.append(os.fsencode(os.path.relpath(path, place.top)))
            if call.is_shell and os.path.lexists(os.path.join(path, ".git")):
                _add_whole(found, path)
    return [(place, list(dict.fromkeys(names))) for place, names in found.values()]


def _add_whole(found: dict[str, Group], top: str) -> None:
    """Add what differs from HEAD in a worktree that a command is given as a whole (`git restore .`).

    Judged as one path it would be in the way of every claim there is, and claimed as one it would lock all out.
    """
    place = place_at(top)
    if place is None or not os.path.isdir(os.path.join(place.common, "coord")):
        return
    try:
        found.setdefault(top, (place, []))[1].extend(edit_tree.changed(place))
    except (OSError, git.GitFailed):
        return


def _before(tool: str, call: Call) -> Answer | None:
    notes: list[str] = []
    found = groups(call)
    tops[:] = [place.top for place, _ in found]
    for place, names in found:
        view = seen[place.top] = View.of(place, names if len(found) == 1 else [])
        if view is None:
            continue
        if view.mode not in MODES:
            return None
        if view.mode == "off":
            continue
        view.look_after()
        me = view.acting(tool, call)
        if me is None or not view.is_clear(me, names):
            return None
        notes += edit_state.take_news(place, me)
        _live_on(place, me)
    if call.is_shell and not _is_prepared(tool, call):
        return None
    return allowing(tool, "pre-edit", notes)


def _after(tool: str, call: Call) -> Answer | None:
    """Pin anew what the agent wrote itself, and look what else a command changed."""
    for place, names in groups(call):
        view = View.of(place)
        me = view.acting(tool, call) if view is not None and view.mode != "off" else None
        if view is not None and view.settings.get(AUTO_RELEASE_KEY) == "edit":
            return None
        if me is not None:
            for name in names:
                edit_state.pin(place, me, name)
    if not call.is_shell:
        return allowing(tool, "post-edit", [])
    place_here = standing(call)
    view = View.of(place_here) if place_here else None
    me = view.acting(tool, call) if view is not None and view.mode != "off" else None
    if view is None or me is None:
        return allowing(tool, "post-edit", [])
    return allowing(tool, "post-edit", _changed(view, tool, me))


def _changed(view: View, tool: str, me: str) -> list[str]:
    """Return what is to be said of files that changed without a claim; each is noted in the log."""
    import time  # built in

    found: dict[bool, list[str]] = {False: [], True: []}
    for name in edit_tree.look(view.place, me):
        flags = view.flags(me, name)
        if flags is None:
            continue
        if flags & MINE and not flags & FOREIGN:
            edit_state.pin(view.place, me, name)
            continue
        shown = ascii(os.fsdecode(name))[1:-1]
        found[bool(flags & FOREIGN)].append(shown)
        log = os.path.join(view.place.common, edit_tree.UNCLAIMED)
        edit_state.append(log, f"{int(time.time())} {me} {tool} {shown}")
    free, held = found[False], found[True]
    notes = [f"git coord: changed without a claim: {_few(free)}; next: git coord claim {_few(free)}"] if free else []
    if held:
        notes.append(
            f"git coord: changed although somebody else holds it: {_few(held)}; next: git coord check {_few(held)}"
        )
    return notes


def _few(names: list[str]) -> str:
    return " ".join(names[:8]) + (f" (and {len(names) - 8} more)" if len(names) > 8 else "")


def _is_prepared(tool: str, call: Call) -> bool:
    """Tell whether there is a picture of the worktree that what a command did can be compared with."""
    place = standing(call)
    if place is None or not os.path.isdir(os.path.join(place.common, "coord")):
        return True
    view = View.of(place)
    if view is None or view.mode == "off":
        return True
    me = view.acting(tool, call)
    return me is not None and edit_tree.is_known(place, me)


def standing(call: Call) -> Place | None:
    """Return the worktree in which the session stands."""
    return place_of(os.path.join(os.path.realpath(call.cwd), "x"))


def _live_on(place: Place, me: str) -> None:
    folder = os.path.join(place.common, "coord")
    if "/" in me or not os.path.exists(os.path.join(folder, "leases", me)):
        return
    import time  # built in

    from . import beats

    os.chdir(place.top)
    beats.beat(folder, me, int(time.time()))


def read_all() -> bytes:
    """Return all of standard input, up to a bound that no payload reaches."""
    return sys.stdin.buffer.read(1 << 26)
