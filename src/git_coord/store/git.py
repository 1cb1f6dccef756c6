"""The one place that runs the git program: its environment, where it runs, its configuration."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from git_coord.errors import CoordError, Kind
from git_coord.process import Completed, Process, found

if TYPE_CHECKING:
    StrPath = str | os.PathLike[str]

# `git rev-parse --local-env-vars`, without what carries the user's own `git -c` options (GIT_CONFIG_PARAMETERS and
# GIT_CONFIG_COUNT; CI puts credentials there).
_LOCAL = frozenset(
    (
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_COMMON_DIR",
        "GIT_CONFIG",
        "GIT_DIR",
        "GIT_GRAFT_FILE",
        "GIT_IMPLICIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_INTERNAL_SUPER_PREFIX",
        "GIT_NO_REPLACE_OBJECTS",
        "GIT_OBJECT_DIRECTORY",
        "GIT_PREFIX",
        "GIT_REPLACE_REF_BASE",
        "GIT_SHALLOW_FILE",
        "GIT_WORK_TREE",
    )
)
_OURS = {
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    # A name that cannot exist: `info/grafts` would give commits other parents (an empty file makes git complain).
    "GIT_GRAFT_FILE": f"{os.devnull}/none",
}
# A partial clone would ask the network for an object it lacks. Git from 2.45 (and distributions' patched ones) knows
# the first; an empty list of protocols stops the others.
_NO_NETWORK = {"GIT_NO_NETWORK": "1", "GIT_ALLOW_PROTOCOL": ""}

HOST_LINES, HOST_LIMIT = 2, 300
"""How much of what a host says is shown: lines, and characters."""
CONFIG_QUESTION = ("config", "--list", "-z", "--show-scope")


class Git:
    """Git in one repository, with an environment derived from the one given and no terminal.

    Where `cwd` matters it should be the top of the worktree (of a bare repository its directory): told the repository,
    git takes `cwd` for the top, and relative URLs start there. Without `network` git talks to no remote: in a partial
    clone a command that needs an object the clone lacks then fails.
    """

    def __init__(
        self,
        git_dir: StrPath | None,
        env: Mapping[str, str],
        cwd: StrPath | None = None,
        *,
        network: bool = False,
        begun: dict[tuple[str, ...], Process] | None = None,
    ) -> None:
        """Prepare to run git; nothing is run yet. `begun` are processes that were started ahead, by their arguments."""
        self._begun = {} if begun is None else begun
        self.git_dir = None if git_dir is None else os.path.abspath(git_dir)
        self.cwd = None if cwd is None else os.fspath(cwd)
        self._given = env
        self.env = {name: value for name, value in env.items() if name not in _LOCAL} | _OURS | _without_monitor(env)
        if self.git_dir is not None:
            self.env["GIT_DIR"] = self.git_dir
        if not network:
            self.env |= _NO_NETWORK
        self._program: str | None = None

    def run(
        self,
        args: Sequence[str],
        stdin: bytes = b"",
        timeout: float | None = None,
        *,
        check: bool = True,
        env: Mapping[str, str] | None = None,
        began: Callable[[], None] | None = None,
    ) -> Completed:
        """Run git to its end, with `env` added to the environment; `began` is called once it has started.

        Raises CoordError(ERROR) with git's words when it fails and `check` is set, CoordError(UNKNOWN) when it takes
        longer than `timeout`; it and all its children are dead then.
        """
        process = self._begun.pop(tuple(args), None) or self.start(args, env=env)
        if stdin:
            process.send(stdin)
        if began is not None:
            began()
        try:
            done = process.communicate(timeout)
        except TimeoutError:
            raise CoordError(Kind.UNKNOWN, f"no answer from git {verb(args)} in {timeout:g} s") from None
        if check and done.code != 0:
            raise failure(args, done)
        return done

    def begin(self, args: Sequence[str]) -> None:
        """Start ahead what `run` will be asked for with these arguments, so that git starts while Python works on."""
        if tuple(args) not in self._begun:
            self._begun[tuple(args)] = self.start(args)

    def taken(self, args: Sequence[str], keep: int | None) -> Process:
        """Return the process that was started ahead with these arguments, else a new one; one that shares is new."""
        return (None if keep is not None else self._begun.pop(tuple(args), None)) or self.start(args, keep=keep)

    def start(self, args: Sequence[str], *, env: Mapping[str, str] | None = None, keep: int | None = None) -> Process:
        """Start git and return the process, for those that talk with it for longer; it shares the descriptor `keep`."""
        argv = ["git", *(() if self.cwd is None else ("-C", self.cwd)), *args]
        try:
            return Process(self._found(), argv, self.env if env is None else self.env | dict(env), keep)
        except OSError as error:
            raise CoordError(Kind.ERROR, f"git cannot be started: {error.strerror}") from error

    def online(self) -> Git:
        """Return the same with the network allowed."""
        return Git(self.git_dir, self._given, self.cwd, network=True)

    def elsewhere(self, git_dir: StrPath, env: Mapping[str, str]) -> Git:
        """Return git in another repository, without a worktree, with `env` added to its environment."""
        return Git(git_dir, {**self._given, **env})

    def config(self) -> Config:
        """Read the whole configuration as git sees it here, with one process."""
        return Config(self.run(CONFIG_QUESTION).out)

    def _found(self) -> str:
        if self._program is None:
            try:
                self._program = found("git", self.env)
            except FileNotFoundError:
                raise CoordError(Kind.ERROR, "git is not on PATH") from None
        return self._program


def _without_monitor(env: Mapping[str, str]) -> dict[str, str]:
    """Return one more setting of the environment's: a file system monitor is a program that a repository names.

    Even `fetch`, `diff-tree` and `diff-index --cached` start it. Settings that are there already keep their place.
    """
    count = env.get("GIT_CONFIG_COUNT") or "0"
    if not count.isascii() or not count.isdigit():
        return {}  # git refuses to run with this, and says so
    key, value = f"GIT_CONFIG_KEY_{int(count)}", f"GIT_CONFIG_VALUE_{int(count)}"
    return {"GIT_CONFIG_COUNT": str(int(count) + 1), key: "core.fsmonitor", value: "false"}


class Config:
    """Git's configuration as read at one moment; keys as git documents them, in any case (`coord.refPrefix`)."""

    def __init__(self, listing: bytes) -> None:
        """Take the output of `git config --list -z --show-scope`."""
        self._values: dict[str, list[tuple[str, str]]] = {}
        fields = os.fsdecode(listing).split("\0")
        for scope, entry in zip(fields[::2], fields[1::2], strict=False):
            # A key without `=` means true, as git reads it.
            key, has_value, value = entry.partition("\n")
            self._values.setdefault(_folded(key), []).append((scope, value if has_value else "true"))

    def get(self, key: str) -> str | None:
        """Return the value that counts (the last one), or None when it is not set."""
        values = self.scoped(key)
        return values[-1][1] if values else None

    def get_all(self, key: str) -> list[str]:
        """Return every value, in the order git reads them."""
        return [value for _, value in self.scoped(key)]

    def scoped(self, key: str) -> list[tuple[str, str]]:
        """Return every `(scope, value)`; scopes are git's: system, global, local, worktree, command."""
        return self._values.get(_folded(key), [])

    def under(self, section: str) -> dict[str, list[str]]:
        """Return the keys that begin with `section.`, folded as git lists them, with their values."""
        start = f"{section}."
        return {key: [value for _, value in rows] for key, rows in self._values.items() if key.startswith(start)}


def failure(args: Sequence[str], done: Completed) -> CoordError:
    """Return the error for a git command that failed, in git's words as far as they go."""
    return CoordError(Kind.ERROR, f"git {verb(args)}: {first_words(done.err) or f'exit {done.code}'}")


def first_words(err: bytes) -> str:
    """Return git's first line that says what is wrong: for people only, never to decide on."""
    lines = [line.strip() for line in words(err).splitlines()]
    # A transport's own complaint comes first; git's table of refs and its asides are not what went wrong.
    asides = ("From ", "hint:", "warning:", "* ", "remote:")
    said = next((line for line in lines if line and not line.startswith(asides) and " -> " not in line), "")
    told = host_words(err)
    return f"{told} ({said})" if told and said else told or said


def host_words(err: bytes) -> str:
    """Return what the host said over git's connection (`remote: …`): its first two sentences, cut; for people only."""
    lines = [line.removeprefix("remote:").strip() for line in words(err).splitlines() if line.startswith("remote:")]
    told = [line for line in lines if any(char.isalnum() for char in line)]  # not the rules that frame it
    text = "; ".join(line.removeprefix("error: ").removeprefix("fatal: ") for line in told[:HOST_LINES])
    return text if len(text) <= HOST_LIMIT else f"{text[:HOST_LIMIT]}…"


def verb(args: Sequence[str]) -> str:
    """Return the subcommand in a list of arguments, past `-c name=value`."""
    words = iter(args)
    for word in words:
        if word != "-c":
            return word
        next(words, None)
    return ""


def words(err: bytes) -> str:
    """Return what git said, without the word it begins a complaint with."""
    return err.decode("utf-8", "replace").removeprefix("fatal: ").removeprefix("error: ")


def _folded(key: str) -> str:
    """Lower the case of section and variable; what is between the dots is a name."""
    section, dot, rest = key.partition(".")
    middle, last_dot, variable = rest.rpartition(".")
    return f"{section.lower()}{dot}{middle}{last_dot}{variable.lower()}"
