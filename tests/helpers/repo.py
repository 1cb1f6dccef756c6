"""Repositories that read like shell: `repo.git("add", "a")`, `repo.coord("claim", "a")`, `repo.commit("m", a="1")`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tests.helpers import warm
from tests.helpers.patience import PATIENCE

TIMEOUT = PATIENCE
"""Seconds: far above what any command of a test takes, below pytest's own limit."""


@dataclass(frozen=True)
class Completed:
    """What a process left behind; `out` and `err` are exact, with surrogates for bytes that are not UTF-8."""

    code: int
    out: str
    err: str


class Failed(AssertionError):  # noqa: N818  # reads as the outcome it is, beside Completed
    """A command that the test needs to succeed did not."""

    def __init__(self, args: Sequence[str], done: Completed) -> None:
        super().__init__(f"{' '.join(args)}: exit {done.code}\n{done.out}{done.err}")
        self.done = done


def run(
    args: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    input: str | bytes | None = None,  # noqa: A002  # the name subprocess uses
    timeout: float = TIMEOUT,
) -> Completed:
    """Run a program to its end; on a timeout it and all its children are killed and `TimeoutExpired` is raised."""
    data = encoded(input)
    stdin = subprocess.DEVNULL if data is None else subprocess.PIPE
    # A session of its own, so that one signal reaches the hooks and transports git has started.
    with subprocess.Popen(
        args, cwd=cwd, env=env, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    ) as process:
        try:
            out, err = process.communicate(data, timeout)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    return decoded(process.returncode, out, err)


def encoded(text: str | bytes | None) -> bytes | None:
    """Return the bytes for a process."""
    return text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text


def decoded(code: int, out: bytes, err: bytes) -> Completed:
    """Return what a process left behind, as text."""
    return Completed(code, out.decode("utf-8", "surrogateescape"), err.decode("utf-8", "surrogateescape"))


@dataclass(frozen=True)
class Repo:
    """A repository or worktree and the environment its commands run in."""

    path: Path
    env: dict[str, str] = field(repr=False)

    def run(
        self,
        *args: str,
        check: bool = False,
        input: str | bytes | None = None,  # noqa: A002
        timeout: float = TIMEOUT,
    ) -> Completed:
        """Run any program in the repository."""
        done = run(args, cwd=self.path, env=self.env, input=input, timeout=timeout)
        if check and done.code != 0:
            raise Failed(args, done)
        return done

    def git(self, *args: str, input: str | bytes | None = None) -> str:  # noqa: A002
        """Run git, which must succeed; return its output without the last newline."""
        return self.run("git", *args, check=True, input=input).out.removesuffix("\n")

    def coord(self, *args: str, input: str | bytes | None = None, timeout: float = TIMEOUT) -> Completed:  # noqa: A002
        """Run `git coord` as a subcommand found on PATH, where the start of a process does not matter a quick one."""
        if not warm.can_run(args, self.env):
            return self.run("git", "coord", *args, input=input, timeout=timeout)
        return decoded(*warm.run(args, cwd=self.path, env=self.env, data=encoded(input), timeout=timeout))

    def coord_json(self, *args: str, code: int = 0, input: str | bytes | None = None) -> dict[str, Any]:  # noqa: A002
        """Run `git coord … --json`, which must exit with `code`; return the one object on stdout."""
        done = self.coord(*args, "--json", input=input)
        if done.code != code:
            raise Failed(["git", "coord", *args, "--json"], done)
        answer = json.loads(done.out)
        assert isinstance(answer, dict), answer
        return answer

    def with_env(self, **changes: str) -> Repo:
        """Return the same repository with variables set for its commands."""
        return replace(self, env=self.env | changes)

    def write(self, path: str, text: str | bytes) -> Path:
        """Write a file of the worktree and the folders it needs."""
        target = self.path / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text.encode() if isinstance(text, str) else text)
        return target

    def commit(self, message: str, /, **files: str | bytes) -> str:
        """Write and stage the files (`**{"src/a.py": ""}` for a path), commit what is staged, return the commit id."""
        for path, text in files.items():
            self.write(path, text)
            self.git("--literal-pathspecs", "add", "--", path)
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.rev("HEAD")

    def rev(self, name: str) -> str:
        """Return the object id a name stands for."""
        return self.git("rev-parse", "--verify", "--end-of-options", name)

    def refs(self, *patterns: str) -> dict[str, str]:
        """Return refs and what they point at: the state to compare before and after."""
        lines = self.git("for-each-ref", "--format=%(refname) %(objectname)", *patterns).splitlines()
        return dict(line.split(" ", 1) for line in lines)

    def worktree(self, name: str, *, agent: str | None = None) -> Repo:
        """Add a linked worktree beside the repository, on a new branch of that name, with its own agent if named."""
        other = replace(self, path=self.path.parent / name)
        self.git("worktree", "add", "-q", "-b", name, str(other.path))
        if agent is not None:
            self.git("config", "extensions.worktreeConfig", "true")
            other.git("config", "--worktree", "coord.agent", agent)
        return other


def new_repo(path: Path, env: dict[str, str], *options: str) -> Repo:
    """Run `git init` with options such as `--bare`."""
    path.mkdir(parents=True)
    repo = Repo(path, env)
    repo.git("init", "-q", *options)
    return repo


def hub_with_clones(folder: Path, env: dict[str, str], agents: Sequence[str]) -> tuple[Repo, ...]:
    """Make a bare hub with one commit on main and a clone for each agent, named after it; return all, hub first."""
    hub = new_repo(folder / "hub.git", env, "--bare")
    seed = new_repo(folder / "seed", env)
    seed.commit("first", **{"README.md": "hello\n"})
    seed.git("push", "-q", str(hub.path), "main")
    return hub, *(_clone(hub, folder / agent, agent) for agent in agents)


def _clone(hub: Repo, path: Path, agent: str) -> Repo:
    hub.git("clone", "-q", str(hub.path), str(path))
    clone = replace(hub, path=path)
    clone.git("config", "coord.agent", agent)
    return clone
