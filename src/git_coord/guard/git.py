"""Git processes side by side, and where a repository keeps its files; `subprocess` would take 10 ms to import."""

import os

LEDGER_REFS = ("refs/coord/claims", "refs/coord/requests/")
"""What a snapshot is made from (the guard's one place for ref names; `store.refnames` has them for all others)."""
EMPTY_TREES = (
    "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
)
"""The id of the empty tree in either object format; git knows its own without an object."""


class GitFailed(Exception):  # noqa: N818 (what happened)
    """A git process that must succeed did not."""

    def __init__(self, args: list[str], status: int) -> None:
        """Keep the command, so that the full program can show it."""
        super().__init__(f"git {' '.join(args)}: exit {status}")


class Process:
    """A running git. Its environment is the hook's own: git points GIT_INDEX_FILE at the index to be committed."""

    __slots__ = ("_args", "_fd", "_pid")

    def __init__(self, *args: str) -> None:
        self._args = list(args)
        self._fd, out = os.pipe()
        actions: list[tuple[int, int, int] | tuple[int, int, str, int, int]] = [
            (os.POSIX_SPAWN_DUP2, out, 1),
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
        ]
        try:
            self._pid = os.posix_spawnp("git", ["git", *args], os.environ, file_actions=actions)
        except OSError:
            os.close(self._fd)
            raise
        finally:
            os.close(out)

    def finish(self) -> tuple[int, bytes]:
        """Wait for its end; return exit status and output."""
        parts = []
        while part := os.read(self._fd, 1 << 20):
            parts.append(part)
        os.close(self._fd)
        return os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1]), b"".join(parts)

    def output(self) -> bytes:
        """Wait for its end; return its output, or raise GitFailed."""
        status, out = self.finish()
        if status:
            raise GitFailed(self._args, status)
        return out


def read_file(*parts: str) -> bytes | None:
    """Return a file's bytes, None when there is none or it cannot be read; what is no file is never waited for."""
    import stat  # loaded with os

    try:
        fd = os.open(os.path.join(*parts), os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return None
        data = os.read(fd, os.fstat(fd).st_size + 1)
        while part := os.read(fd, 1 << 16):  # files of /proc say that they are empty
            data += part
        return data
    except OSError:
        return None
    finally:
        os.close(fd)


def locate() -> tuple[str, str]:
    """Return git directory and common directory, as gitrepository-layout(5) lets one find them without a process."""
    git_dir = os.environ.get("GIT_DIR") or ".git"
    if not os.path.isdir(git_dir):
        line = read_file(git_dir) or b""
        if not line.startswith(b"gitdir: "):
            return _ask_git()
        git_dir = os.path.join(os.path.dirname(git_dir), os.fsdecode(line[8:].rstrip(b"\n")))
    common = os.environ.get("GIT_COMMON_DIR")
    if not common:
        link = read_file(git_dir, "commondir")
        common = git_dir if link is None else os.path.join(git_dir, os.fsdecode(link.rstrip(b"\n")))
    return git_dir, common


def _ask_git() -> tuple[str, str]:
    lines = Process("rev-parse", "--git-dir", "--git-common-dir").output().split(b"\n")
    return os.fsdecode(lines[0]), os.fsdecode(lines[1])
