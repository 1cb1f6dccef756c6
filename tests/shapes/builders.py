"""The shapes: each builder takes a founded world and returns where beta works in it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.helpers import Repo, new_repo
from tests.shapes.world import FREE, HELD, World, found


@dataclass(frozen=True)
class Stage:
    """Where beta works, and how what the scenario does is spelled there."""

    world: World
    desk: Repo
    remote: str | None = "origin"
    held: str = HELD
    """The held path as beta spells it."""
    ledger: str = "adopted"
    """What `init` says of the ledger."""

    @property
    def peer(self) -> Repo:
        """Where alpha works."""
        return self.world.alpha

    def hub_heads(self) -> dict[str, str]:
        """Return the hub's branches."""
        return self.world.hub.refs("refs/heads")


Builder = Callable[[World], Stage]
FOUNDED: dict[str, tuple[tuple[str, ...], dict[str, str]]] = {
    "sha256": (("--object-format=sha256",), {}),
    "reftable": (("--ref-format=reftable",), {}),
    "ignorecase": ((), {"core.ignoreCase": "true"}),
    "nfc": ((), {"core.precomposeUnicode": "true"}),
}
"""Shapes whose ledger has to be born in a hub of their own: options of `git init`, settings of the founder."""


def has_reftable(folder: Path, env: Mapping[str, str]) -> bool:
    """Tell whether this git can make a repository with reftables (2.45 and newer can)."""
    tried = Repo(folder, dict(env)).run("git", "init", "-q", "--bare", "--ref-format=reftable", "reftable-probe.git")
    return tried.code == 0


def refound(name: str, world: World) -> World:
    """Found another world with the options of a shape."""
    options, settings = FOUNDED[name]
    folder = world.folder / name
    folder.mkdir()
    return found(folder, world.alpha.env, *options, settings=settings)


def plain(world: World) -> Stage:
    return Stage(world, world.clone("beta"))


def linked_worktree(world: World) -> Stage:
    return Stage(world, world.clone("main").worktree("beta"))


def submodule(world: World) -> Stage:
    above = new_repo(world.folder / "above", world.alpha.env)
    above.git("submodule", "--quiet", "add", str(world.hub.path), "lib")
    above.commit("lib")
    lib = replace(above, path=above.path / "lib")
    lib.git("checkout", "-q", "--detach")  # as `git submodule update` leaves it
    return Stage(world, lib)


def bare_with_worktrees(world: World) -> Stage:
    bare = world.clone("bare.git", "--bare")
    bare.git("config", "remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*")
    bare.git("fetch", "-q")
    return Stage(world, bare.worktree("beta"))


def shallow(world: World) -> Stage:
    return Stage(world, world.clone("beta", "--depth", "1", url=world.url))


def partial(world: World) -> Stage:
    world.hub.git("config", "uploadpack.allowFilter", "true")
    world.hub.git("config", "uploadpack.allowAnySHA1InWant", "true")
    beta = world.clone("beta", "--filter=blob:none", "--no-checkout", url=world.url)
    beta.git("checkout", "-q", "main")
    return Stage(world, beta)


def sparse(world: World) -> Stage:
    beta = world.clone("beta", "--sparse")
    beta.git("sparse-checkout", "set", "src")
    assert not (beta.path / "docs").exists()
    return Stage(world, beta)


def no_remote(world: World) -> Stage:
    alone = new_repo(world.folder / "beta", world.alpha.env)
    alone.commit("first", **{HELD: "1\n", FREE: "1\n"})
    alpha = alone.with_env(GIT_COORD_AGENT="alpha")
    assert alpha.coord("init").code == 0
    assert alpha.coord("claim", HELD, "-m", "fix the parser").code == 0
    return Stage(replace(world, alpha=alpha), alone, remote=None, ledger="kept")


def two_remotes(world: World) -> Stage:
    beta = world.clone("beta")
    fork = new_repo(world.folder / "fork.git", world.alpha.env, "--bare")
    beta.git("remote", "add", "fork", str(fork.path))
    assert beta.coord_json("init", "--agent", "beta", code=1)["next"] == "git config coord.remote origin"
    beta.git("config", "coord.remote", "origin")
    return Stage(world, beta)


def other_name(world: World) -> Stage:
    return Stage(world, world.clone("beta", "--origin", "up.stream"), remote="up.stream")


def push_url(world: World) -> Stage:
    mirror = world.folder / "mirror.git"
    world.hub.git("clone", "-q", "--bare", str(world.hub.path), str(mirror))
    beta = world.clone("beta", url=str(mirror))
    beta.git("config", "remote.origin.pushurl", str(world.hub.path))
    assert beta.coord_json("init", "--agent", "beta", code=1)["next"] == "git config coord.remote origin"
    beta.git("config", "coord.remote", "origin")
    return Stage(world, beta)


def detached(world: World) -> Stage:
    beta = world.clone("beta")
    beta.git("checkout", "-q", "--detach", "HEAD~1")
    return Stage(world, beta)


def unborn(world: World) -> Stage:
    beta = new_repo(world.folder / "beta", world.alpha.env)
    beta.git("remote", "add", "origin", str(world.hub.path))
    return Stage(world, beta)


def mid_rebase(world: World) -> Stage:
    beta = world.clone("beta")
    beta.commit("third", **{"third.txt": "3\n"})
    editor = beta.with_env(GIT_SEQUENCE_EDITOR="sed -i 1s/pick/edit/")
    editor.git("rebase", "-q", "-i", "HEAD~2")
    assert (beta.path / ".git/rebase-merge").is_dir()
    return Stage(world, beta)


def mid_merge(world: World) -> Stage:
    beta = world.clone("beta")
    beta.git("checkout", "-q", "-b", "side", "HEAD~1")
    beta.commit("side", **{"side.txt": "side\n"})
    beta.git("checkout", "-q", "main")
    beta.git("merge", "-q", "--no-commit", "--no-ff", "side")
    assert (beta.path / ".git/MERGE_HEAD").is_file()
    return Stage(world, beta)


def worktree_config(world: World) -> Stage:
    beta = world.clone("beta")
    beta.git("config", "extensions.worktreeConfig", "true")
    beta.git("config", "--worktree", "core.logAllRefUpdates", "true")
    return Stage(world, beta)


def sha256(world: World) -> Stage:
    return plain(refound("sha256", world))


def reftable(world: World) -> Stage:
    if not has_reftable(world.folder, world.alpha.env):
        pytest.skip("this git has no reftable; 2.45 and newer do")
    made = refound("reftable", world)
    return Stage(made, made.clone("beta", "--ref-format=reftable"))


def ignorecase(world: World) -> Stage:
    made = refound("ignorecase", world)
    beta = made.clone("beta")
    beta.git("config", "core.ignoreCase", "true")
    return Stage(made, beta, held="src/HELD.txt")


def nfc(world: World) -> Stage:
    made = refound("nfc", world)
    assert made.alpha.coord("claim", "h\u00e9ld.txt").code == 0
    beta = made.clone("beta")
    beta.git("config", "core.precomposeUnicode", "true")
    return Stage(made, beta, held="he\u0301ld.txt")


def odd_path(world: World) -> Stage:
    folder = 'it\'s "a"\n \\odd\tplace ü '
    (world.folder / folder).mkdir()
    return Stage(world, world.clone(f"{folder}/be\nta"))


def told_where(world: World) -> Stage:
    beta = world.clone("beta")
    away = world.folder / "away"
    away.mkdir()
    told = beta.with_env(GIT_DIR=str(beta.path / ".git"), GIT_WORK_TREE=str(beta.path))
    return Stage(world, told)


def symlinked(world: World) -> Stage:
    beta = world.clone("really")
    link = world.folder / "link"
    link.symlink_to(beta.path, target_is_directory=True)
    # A shell that has changed into the link tells it in PWD, and git looks there.
    return Stage(world, replace(beta, path=link, env=beta.env | {"PWD": str(link)}))


def separate_git_dir(world: World) -> Stage:
    beta = world.clone("beta", f"--separate-git-dir={world.folder / 'elsewhere'}")
    assert (beta.path / ".git").is_file()
    return Stage(world, beta)


def shared_objects(world: World) -> Stage:
    beta = world.clone("beta", "--shared")
    assert (beta.path / ".git/objects/info/alternates").is_file()
    return Stage(world, beta)


def many_refs(world: World) -> Stage:
    tip = world.hub.rev("main")
    rows = "".join(f"{tip} refs/tags/t{n:05}\n" for n in range(80_000))
    header = "# pack-refs with: peeled fully-peeled sorted \n"
    world.hub.git("pack-refs", "--all")
    packed = world.hub.path / "packed-refs"
    packed.write_text(header + packed.read_text().partition("\n")[2] + rows)
    beta = world.clone("beta")
    assert len(beta.refs("refs/tags")) == 80_000
    return Stage(world, beta)


def many_files(world: World) -> Stage:
    rows = ["commit refs/heads/main\ncommitter T <t@example.com> 1700000000 +0000\ndata 0\n"]
    rows += [f"from {world.hub.rev('main')}\n", "M 100644 inline many/shared\ndata 1\nx\n"]
    blob = world.hub.git("hash-object", "-w", "--stdin", input="x")
    rows += [f"M 100644 {blob} many/{n % 300:03}/{n:06}\n" for n in range(100_000)]
    world.hub.git("fast-import", "--quiet", "--force", input="".join([*rows, "\n"]))
    beta = world.clone("beta")
    assert len(os.listdir(beta.path / "many")) == 301
    return Stage(world, beta)


SHAPES: dict[str, Builder] = {
    "plain": plain,
    "linked worktree": linked_worktree,
    "submodule": submodule,
    "bare with worktrees": bare_with_worktrees,
    "shallow": shallow,
    "partial": partial,
    "sparse": sparse,
    "no remote": no_remote,
    "two remotes": two_remotes,
    "remote with another name": other_name,
    "push url": push_url,
    "detached": detached,
    "unborn": unborn,
    "mid-rebase": mid_rebase,
    "mid-merge": mid_merge,
    "worktree config": worktree_config,
    "sha256": sha256,
    "reftable": reftable,
    "ignorecase": ignorecase,
    "nfc": nfc,
    "odd path": odd_path,
    "GIT_DIR": told_where,
    "symlinked": symlinked,
    "separate git dir": separate_git_dir,
    "shared objects": shared_objects,
}
HUGE: dict[str, Builder] = {"80,000 refs": many_refs, "100,000 files": many_files}
