"""Where a file that a tool names really is, and which repository has it: the path decides, not where we stand."""

import os

from .git import read_file


class Place:
    """A worktree and its repository's folders."""

    __slots__ = ("common", "git_dir", "top")

    def __init__(self, top: str, git_dir: str, common: str) -> None:
        self.top, self.git_dir, self.common = top, git_dir, common


def real_paths(path: str, cwd: str, *, is_link: bool) -> list[str]:
    """Return the absolute paths that a name means, without links, `.` and `..`.

    Who writes through a link changes its target, and may replace the link itself: both count. Who moves or removes a
    link (`is_link`) touches that alone.
    """
    full = os.path.join(cwd, _native(os.path.expanduser(path)))
    folder, last = os.path.split(full.rstrip("/") or "/")
    if last in ("", ".", ".."):
        return [os.path.realpath(full)]
    itself = os.path.join(os.path.realpath(folder), last)
    if is_link or not os.path.islink(itself):
        return [itself]
    return list(dict.fromkeys([itself, os.path.realpath(itself)]))


def _native(path: str) -> str:
    r"""Return `C:\a` and `C:/a` as the system under us spells them (WSL, Git Bash), other paths as they are."""
    if os.sep != "/" or path[1:3] not in (":\\", ":/") or not path[0].isalpha():
        return path
    rest = path[3:].replace("\\", "/")
    for root in (f"/mnt/{path[0].lower()}", f"/{path[0].lower()}"):
        if os.path.isdir(root):
            return f"{root}/{rest}"
    return path


def place_of(path: str) -> Place | None:
    """Return the worktree that has a file, which need not exist; None outside of any, and in a git directory."""
    if ".git" in path.split("/"):
        return None
    folder = os.path.dirname(path)
    while not os.path.lexists(os.path.join(folder, ".git")):
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above
    return place_at(folder)


def place_at(top: str) -> Place | None:
    """Return the worktree whose top this is, as gitrepository-layout(5) lets one find its folders."""
    git_dir = os.path.join(top, ".git")
    if not os.path.isdir(git_dir):
        line = read_file(git_dir) or b""
        if not line.startswith(b"gitdir: "):
            return None
        git_dir = os.path.normpath(os.path.join(top, os.fsdecode(line[8:].rstrip(b"\n"))))
    link = read_file(git_dir, "commondir")
    common = git_dir if link is None else os.path.normpath(os.path.join(git_dir, os.fsdecode(link.rstrip(b"\n"))))
    return Place(top, git_dir, common)
