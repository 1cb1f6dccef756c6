"""Shapes by how the clone was made, what is checked out and how it is stored; and the table of all shapes."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from tests.helpers import new_repo
from tests.shapes import places
from tests.shapes.stage import Builder, Stage, has_reftable, refound
from tests.shapes.world import FREE, HELD, World


def plain(world: World) -> Stage:
    return Stage(world, world.clone("beta"))


def shallow(world: World) -> Stage:
    return Stage(world, world.clone("beta", "--depth", "1", url=world.url))


def partial(world: World) -> Stage:
    world.hub.git("config", "uploadpack.allowFilter", "true")
    world.hub.git("config", "uploadpack.allowAnySHA1InWant", "true")
    beta = world.clone("beta", "--filter=blob:none", "--no-checkout", url=world.url)
    beta.git("checkout", "-q", "main")
    return Stage(world, beta)


def treeless(world: World) -> Stage:
    world.hub.git("config", "uploadpack.allowFilter", "true")
    world.hub.git("config", "uploadpack.allowAnySHA1InWant", "true")
    return Stage(world, world.clone("beta", "--filter=tree:0", url=world.url))


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
    "linked worktree": places.linked_worktree,
    "submodule": places.submodule,
    "bare with worktrees": places.bare_with_worktrees,
    "shallow": shallow,
    "partial": partial,
    "treeless": treeless,
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
    "odd path": places.odd_path,
    "GIT_DIR": places.told_where,
    "relative GIT_DIR": places.told_relative,
    "dotfiles": places.dotfiles,
    "core.worktree": places.configured_worktree,
    "symlinked": places.symlinked,
    "separate git dir": places.separate_git_dir,
    "shared objects": shared_objects,
}
HUGE: dict[str, Builder] = {"80,000 refs": many_refs, "100,000 files": many_files}
