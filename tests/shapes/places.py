"""Shapes by where things are: the worktree, the git directory, the hub, and what says so."""

from __future__ import annotations

from dataclasses import replace

from tests.helpers import new_repo
from tests.shapes.stage import Stage
from tests.shapes.world import World


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


def odd_path(world: World) -> Stage:
    hub = replace(world.hub, path=world.hub.path.rename(world.folder / '-it\'s "a" $(hub) \u00fc .git'))
    world.alpha.git("config", "remote.origin.url", str(hub.path))
    folder = 'it\'s "a"\n \\odd\tplace \u00fc '
    (world.folder / folder).mkdir()
    moved = replace(world, hub=hub)
    return Stage(moved, moved.clone(f"{folder}/be\nta"))


def told_where(world: World) -> Stage:
    beta = world.clone("beta")
    return Stage(world, beta.with_env(GIT_DIR=str(beta.path / ".git"), GIT_WORK_TREE=str(beta.path)))


def told_relative(world: World) -> Stage:
    return Stage(world, world.clone("beta").with_env(GIT_DIR=".git", GIT_WORK_TREE="."))


def dotfiles(world: World) -> Stage:
    beta = world.clone("beta")
    elsewhere = (beta.path / ".git").rename(world.folder / "dotfiles")
    return Stage(world, beta.with_env(GIT_DIR=str(elsewhere), GIT_WORK_TREE=str(beta.path)))


def configured_worktree(world: World) -> Stage:
    beta = world.clone("beta")
    elsewhere = (beta.path / ".git").rename(world.folder / "elsewhere")
    told = beta.with_env(GIT_DIR=str(elsewhere))
    told.git("config", "core.worktree", str(beta.path))
    return Stage(world, told)
