"""The fast path: say "allow" when the picture at hand shows it beyond doubt, else hand over to the full program."""

import os
import sys

from . import git, refresh, snapshot, whose
from .changes import Changes
from .verdict import all_free

MODES = ("block", "warn", "off")
PROBE = "GIT_COORD_PROBE"
PROBE_ANSWER = "git-coord hook fires: "
RULES_FILE = ".coord.toml"
LOOKING = ("pre-commit", "pre-merge-commit")
"""Hooks before which an old picture is made young; what comes after them has that one."""
UNDERWAY = {
    "rebase": ("rebase-merge", "rebase-apply"),
    "cherry-pick": ("CHERRY_PICK_HEAD",),
    "revert": ("REVERT_HEAD",),
    "merge": ("MERGE_HEAD",),
}
SETTINGS = r"^coord\.(repo|agent|agentworktree|mode|remote|freshness|commitwait)$"


def run(argv: list[str]) -> None:
    """Decide for `HOOK ARGS...`, which `--settings=TEXT` may precede; exit, or become the full program."""
    settings = None
    if argv[0].startswith("--settings="):
        text, argv = argv[0].partition("=")[2], argv[1:]
        settings = whose.parse_settings(text) if whose.has_scopes(text) else None
    hook, args = argv[0], argv[1:]
    if os.environ.get(PROBE):
        sys.stdout.write(f"{PROBE_ANSWER}{hook}\n")
        sys.exit(0)
    if hook in refresh.HOOKS:
        look_after(hook, args)
        os._exit(0)
    if is_allowed(hook, args, settings):
        os._exit(0)  # nothing is left to flush, and taking the interpreter down costs a millisecond
    # -P: a file of the repository must never be imported because a hook happens to run beside it.
    line = [sys.executable, "-P", "-m", "git_coord.hooks", hook, "--explain", *args]
    if is_bypassed():
        os.spawnv(os.P_WAIT, line[0], line)  # noqa: S606 - it records a bypass; whatever becomes of it, the push passes
        os._exit(0)
    os.execv(line[0], line)  # noqa: S606 - our own interpreter


def look_after(hook: str, args: list[str]) -> None:
    """Look after the picture when something has happened that git tells us of; trouble is nobody's."""
    import time  # built in

    try:
        settings = read_settings()
        if "coord.repo" in settings and mode_of(settings) != "off":
            refresh.after(hook, args, settings, int(time.time()))
    except (OSError, git.GitFailed):
        return


def read_settings() -> dict[str, str]:
    """Ask git for the settings that the shims pass on."""
    listing = git.Process("config", "--show-scope", "--get-regexp", SETTINGS).finish()[1]
    return whose.parse_settings(os.fsdecode(listing))


def mode_of(settings: dict[str, str]) -> str:
    """Return what was asked for, valid or not: by the environment, then by configuration."""
    return os.environ.get("GIT_COORD_MODE") or settings.get("coord.mode") or "block"


def is_bypassed() -> bool:
    """Tell whether this one command is to pass; post-commit records it."""
    return os.environ.get("GIT_COORD_BYPASS") == "1"


def concerns(hook: str, args: list[str], git_dir: str) -> bool:
    """Tell whether the hook has anything to decide.

    prepare-commit-msg only adds the amends that pre-commit cannot recognise. A rebase replays commits one by one; they
    are judged when pushed, as the commits that a cherry-pick makes are.
    """
    if hook != "prepare-commit-msg":
        return True
    return args[1:3] == ["commit", "HEAD"] and not any(
        os.path.isdir(os.path.join(git_dir, name)) for name in ("rebase-merge", "rebase-apply")
    )


def underway(git_dir: str) -> str | None:
    """Return the command of git that is in the middle of something, which a refused commit leaves it in."""
    for command, names in UNDERWAY.items():
        if any(os.path.exists(os.path.join(git_dir, name)) for name in names):
            return command
    return None


def is_allowed(hook: str, args: list[str], settings: dict[str, str] | None) -> bool:
    """Tell whether the hook may pass without another word; every failure to find out is a no."""
    if is_bypassed() and hook != "pre-push":
        return True
    try:
        settings = read_settings() if settings is None else settings
        if "coord.repo" not in settings:
            # A repository that git refuses to read shows no settings either.
            git.Process("rev-parse", "--git-dir").output()
            return True
        mode = mode_of(settings)
        if mode == "off":
            return True
        return (
            mode in MODES
            and hook in ("pre-commit", "pre-merge-commit", "prepare-commit-msg")
            and (_is_free(hook, args, settings))
        )
    except (OSError, ValueError, LookupError, git.GitFailed):
        return False


def _is_free(hook: str, args: list[str], settings: dict[str, str]) -> bool:
    git_dir, common = git.locate()
    if not concerns(hook, args, git_dir):
        return True
    old = _old_picture(hook, os.path.join(common, "coord"), settings)
    if old is None:
        return False
    refs = git.Process("for-each-ref", "--format=%(objectname) %(refname)", *git.LEDGER_REFS)
    changes = Changes(hook, args, git_dir)
    # Files are read and taken apart while git works.
    picture = snapshot.decode_claims(git.read_file(common, "coord", snapshot.CLAIMS_FILE) or b"")
    stamped = stamp_of(RULES_FILE)
    data = git.read_file(git_dir, "coord", snapshot.POLICY_FILE)
    policy = snapshot.decode_policy(data or b"", stamped)
    if data is None and stamped == snapshot.NO_FILE and picture is not None:
        policy = picture[0], []
    paths, present = changes.paths(), refs.output()
    if picture is None or policy is None or not present or present != picture[1] or policy[0] != picture[0]:
        return False
    agent = whose.agent_of(settings, git_dir, common) or ""
    if _is_to_be_told(git_dir, common, agent) or not all_free(
        paths, picture, policy[1], agent.encode(errors="surrogateescape")
    ):
        return False
    _live_on(os.path.join(common, "coord"), agent)
    sys.stderr.write(old)
    return True


def _is_to_be_told(git_dir: str, common: str, agent: str) -> bool:
    """Tell whether an agent is to hear, before it goes on, that its name is in use, or what was taken from it."""
    taken = os.path.join(common, "coord", "gone", agent)
    return bool(agent) and (whose.is_elsewhere(git_dir, common, agent) or os.path.exists(taken))


def _old_picture(hook: str, folder: str, settings: dict[str, str]) -> str | None:
    """Return what is to be said should the commit pass: nothing of a young picture; None to look again first."""
    import time  # built in

    now = int(time.time())
    if hook not in LOOKING or not refresh.is_old(folder, settings, now):
        return ""
    if refresh.commit_wait(folder, settings, now):
        return None
    return refresh.words(folder, now, refresh.why_not_asked(folder, settings, now)) + "\n"


def _live_on(folder: str, agent: str) -> None:
    """Let the commit be a sign of life of an agent whose claims depend on it; trouble is not the commit's."""
    if not agent or "/" in agent or not os.path.exists(os.path.join(folder, "leases", agent)):
        return
    import time  # built in

    from . import beats

    try:
        beats.beat(folder, agent, int(time.time()))
    except OSError:
        return


def stamp_of(path: str) -> bytes:
    """Return the stamp of the rules file as it is now."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return snapshot.NO_FILE
    return snapshot.stamp(found.st_size, found.st_mtime_ns, found.st_ino)
