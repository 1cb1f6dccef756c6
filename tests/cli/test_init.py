"""`git coord init` and `deinit`: a clone becomes ready, once, in every shape; and is as it was before."""

from __future__ import annotations

import json
import os
from pathlib import Path

from tests.cli.words import hints, picture, plain_json, said, type_in
from tests.helpers import Repo, hub_with_clones, new_repo


def test_init_tells_agent_key_ledger_membership_and_hooks(tmp_path: Path, env: dict[str, str]) -> None:
    _, alpha, beta = hub_with_clones(tmp_path, env, ["alpha", "beta"])
    assert said(alpha.coord("init")) == (
        0,
        "alpha, in this worktree\n"
        "  key      <key>  new\n"
        "  ledger   new, at origin\n"
        "  member   joined\n"
        "  hooks    not installed          git coord hooks install\n",
        "git coord: the policy key is this agent's own; a person's is better: git coord policy --add-admin KEY.pub\n",
    )
    assert plain_json(beta.coord_json("init")) == {
        "ok": True,
        "agent": "beta",
        "session": "<session>",
        "key": "<key>",
        "repo": "<uuid>",
        "remote": "origin",
        "ledger": "adopted",
        "joined": True,
    }


def test_init_again_changes_nothing(alone: Repo) -> None:
    before = picture(alone)
    answer = alone.coord_json("init")
    assert (answer["ledger"], answer["joined"]) == ("kept", False)
    assert picture(alone) == before
    assert alone.coord("hooks", "install").code == 0
    assert alone.coord("init").out.endswith("\n  member   already\n  hooks    installed\n")


def test_a_name_is_suggested_and_taken_when_there_is_none(repo: Repo) -> None:
    first = repo.with_env(CLAUDECODE="1").coord_json("init")["agent"]
    host = os.uname().nodename.split(".")[0].lower().replace("_", "-")
    assert first == f"claude-{host}-1"
    assert repo.git("config", "coord.agent") == first
    other = repo.worktree("other").with_env(CLAUDECODE="1")
    assert other.coord_json("init")["agent"] == f"claude-{host}-2"
    third = repo.worktree("third")
    assert third.coord_json("init")["agent"] == f"{first}-third"


def test_the_name_that_is_suggested_is_the_persons_and_the_worktrees_and_free(
    trio: tuple[Repo, Repo, Repo], tmp_path: Path
) -> None:
    hub, alpha, _ = trio
    fresh = Repo(tmp_path / "Place Of Work", alpha.env)
    hub.git("clone", "-q", str(hub.path), str(fresh.path))
    fresh.git("config", "user.name", "Ada Löve")
    assert fresh.coord_json("init")["agent"] == "ada-l-ve-place-of-work"
    tree = alpha.worktree("W")
    assert (tree.coord_json("init")["agent"], alpha.coord_json("whoami")["agent"]) == ("alpha-w", "alpha")
    alpha.git("worktree", "remove", "--force", str(tree.path))
    again = Repo(alpha.path.parent / "W", alpha.env)
    alpha.git("worktree", "add", "-q", str(again.path), "W")
    assert again.coord_json("whoami", code=1)["next"] == "git coord init"
    assert again.coord_json("init")["agent"] == "alpha-w-2"


def test_a_name_that_somebody_takes_meanwhile_is_not_asked_for_again(
    trio: tuple[Repo, Repo, Repo], tmp_path: Path
) -> None:
    hub, alpha, _ = trio
    env = alpha.env | {"USER": "u"}
    one, two = (Repo(tmp_path / name / "same", env | {"XDG_STATE_HOME": str(tmp_path / name)}) for name in "xy")
    for repo in (one, two):
        hub.git("clone", "-q", str(hub.path), str(repo.path))
        repo.git("config", "user.name", "ada")
    stopped = one.with_env(GIT_COORD_FAILPOINT="before push")
    stopped.run("git-coord", "init")
    assert two.coord_json("init")["agent"] == "ada-same"
    assert one.coord_json("init")["agent"] == "ada-same-2"


def test_init_in_a_new_worktree_joins_and_tells_what_is_installed(alone: Repo) -> None:
    alone.coord_json("hooks", "install")
    alone.coord_json("adapter", "install", "claude-code", "--user")
    tree = alone.worktree("W")
    assert said(tree.coord("init"))[1].splitlines() == [
        "alpha-w, in this worktree",
        "  key      <key>  new",
        "  ledger   kept, local (no remote)",
        "  member   joined",
        "  hooks    installed",
        "  adapters claude-code",
    ]
    assert tree.coord_json("init")["installed"] == ["hooks", "claude-code"]
    assert tree.coord_json("claim", "a")["agent"] == "alpha-w"


def test_a_worktree_gets_another_agent_when_the_one_before_gives_up_what_it_holds(
    trio: tuple[Repo, Repo, Repo],
) -> None:
    _, alpha, beta = trio
    alpha.coord_json("hooks", "install")
    alpha.coord_json("claim", "a", "README.md", "-m", "why")
    alpha.coord_json("claim", "b")
    alpha.commit("mine", **{"README.md": "mine\n"})
    refused = alpha.coord_json("init", "--agent", "gamma", code=3)
    assert refused["message"] == (
        "this worktree is alpha's, who holds #1 a, README.md and 1 more: hand it over, or give it back first"
        " (git coord release --all && git coord init --agent gamma)"
    )
    assert alpha.coord_json("whoami")["agent"] == "alpha"
    answer = json.loads(type_in(alpha, f"{refused['next']} --json").out)
    assert (answer["agent"], answer["was"], answer["handed"]) == ("gamma", "alpha", [3, 4])
    assert [row["status"] for row in alpha.coord_json("check", "a", "b")["resources"]] == ["mine", "mine"]
    assert agents(beta)["alpha"] == "offline"
    alpha.git("push", "-q")
    assert alpha.coord_json("verify", "HEAD^..HEAD")["violations"] == []  # alpha's commit was signed by alpha
    assert type_in(alpha, "git coord release --all && git coord init --agent alpha").code == 0
    assert (agents(beta)["alpha"], agents(beta)["gamma"]) == ("online", "offline")
    assert alpha.coord_json("whoami")["agent"] == "alpha"


def test_a_name_for_one_command_replaces_nobody(alone: Repo) -> None:
    alone.coord_json("claim", "a")
    assert alone.with_env(GIT_COORD_AGENT="gamma").coord_json("init")["agent"] == "gamma"
    assert alone.coord_json("check", "a")["resources"][0]["status"] == "mine"


def agents(repo: Repo) -> dict[str, str]:
    """Return what each agent is said to be, as the remote has it."""
    repo.coord_json("sync")
    return {row["agent"]: row["state"] for row in repo.coord_json("presence")["agents"]}


def test_a_linked_worktree_gets_an_agent_of_its_own(alone: Repo) -> None:
    other = alone.worktree("other")
    agent = other.coord_json("init")["agent"]
    assert agent != "alpha"
    assert (other.coord_json("whoami")["agent"], alone.coord_json("whoami")["agent"]) == (agent, "alpha")
    assert other.coord_json("init")["agent"] == agent
    alone.coord_json("claim", "a")
    assert other.coord_json("claim", "a", code=3)["holder"] == "alpha"


def test_a_bare_repository_with_worktrees_is_set_up_in_each_of_them(tmp_path: Path, env: dict[str, str]) -> None:
    hub = hub_with_clones(tmp_path, env, [])[0]
    bare = Repo(tmp_path / "bare", env)
    hub.git("clone", "-q", "--bare", str(hub.path), str(bare.path))
    before = (bare.path / "config").read_bytes()
    trees = [Repo(tmp_path / name, env) for name in ("one", "two")]
    for tree in trees:
        bare.git("worktree", "add", "-q", "-b", tree.path.name, str(tree.path), "main")
        assert tree.coord("init", "--agent", tree.path.name).code == 0
    assert trees[0].coord_json("claim", "a")["agent"] == "one"
    assert trees[1].coord_json("claim", "a", code=3)["holder"] == "one"
    assert bare.coord_json("status")["claims"][0]["agent"] == "one"
    assert bare.git("rev-parse", "--is-bare-repository") == "true"
    assert trees[0].git("status", "--porcelain") == ""
    assert trees[0].coord("deinit", "--abandon").code == 0
    assert (bare.path / "config").read_bytes() == before


def test_a_taken_name_is_refused_with_a_free_one(trio: tuple[Repo, Repo, Repo], tmp_path: Path) -> None:
    hub, alpha, _ = trio
    other = new_repo(tmp_path / "other", alpha.env | {"XDG_STATE_HOME": str(tmp_path / "state")})
    other.git("remote", "add", "origin", str(hub.path))
    answer = other.coord_json("init", "--agent", "alpha", code=4)
    assert (answer["code"], answer["message"]) == ("lost", "the name alpha belongs to another key")
    assert answer["next"] == "git coord init --agent alpha-2"
    assert type_in(other, answer["next"]).code == 0


def test_a_bad_name_touches_nothing(repo: Repo) -> None:
    before = picture(repo)
    for name in ("Ann", "a/b", "ann.lock", "", "-x", "a..b", "a" * 64, "é"):
        done = repo.coord("init", f"--agent={name}")
        assert said(done) == (
            2,
            "",
            f"git coord: {name!r} cannot be an agent's name: lower-case letters, digits, '.', '_' and '-', at most 63\n"
            "next   git coord init\n",
        )
        assert picture(repo) == before
    assert type_in(repo, "git coord init").code == 0


def test_deinit_leaves_the_clone_as_it_was(tmp_path: Path, env: dict[str, str]) -> None:
    _, clone = hub_with_clones(tmp_path, env, ["alpha"])
    clone.git("config", "--unset", "coord.agent")
    clone.write(".git/hooks/pre-commit", "#!/bin/sh\nexit 0\n").chmod(0o755)
    other = clone.worktree("other")
    before, files = picture(clone), _files(clone)
    clone.coord_json("init", "--agent", "alpha")
    other.coord_json("init", "--agent", "beta")
    clone.coord_json("hooks", "install")
    clone.git("config", "coord.presence.share", "full")
    other.coord_json("sync")
    assert clone.coord_json("deinit")["removed"][0] == "hooks"
    assert picture(clone) == before
    assert _files(clone) == files


def _files(repo: Repo) -> dict[str, str]:
    """Return the files of the git directory but objects, which a gc removes, and what git itself keeps there."""
    found = {str(path.relative_to(repo.path)): path for path in (repo.path / ".git").rglob("*") if path.is_file()}
    own = (".git/objects/", ".git/index", ".git/worktrees/other/index", ".git/logs/", ".git/packed-refs")
    return {name: str(path.stat().st_size) for name, path in found.items() if not name.startswith(own)}


def test_deinit_refuses_while_something_would_be_lost(trio: tuple[Repo, Repo, Repo]) -> None:
    hub, alpha, _ = trio
    alpha.coord_json("claim", "a")
    done = alpha.coord("deinit")
    assert said(done) == (
        1,
        "",
        "git coord: claims are still held here: #1 of alpha\nnext   git coord release --all\n",
    )
    assert type_in(alpha, hints(done)[0]).code == 0
    hub.path.rename(hub.path.with_name("gone"))
    alpha.coord_json("claim", "b", "--offline")
    alpha.coord_json("release", "b", "--offline")
    done = alpha.coord("deinit")
    assert said(done) == (1, "", "git coord: operations here are not synced yet\nnext   git coord sync\n")
    hub.path.with_name("gone").rename(hub.path)
    assert type_in(alpha, hints(done)[0]).code == 0
    assert said(alpha.coord("deinit"))[0] == 0
    assert alpha.refs("refs/coord*", "refs/notes/coord*") == {}


def test_deinit_counts_the_claims_of_other_worktrees(alone: Repo) -> None:
    other = alone.worktree("other", agent="beta")
    assert other.coord("init").code == 0
    other.coord_json("claim", "a")
    done = alone.coord("deinit")
    assert said(done)[2] == ("git coord: claims are still held here: #1 of beta\nnext   git coord deinit --abandon\n")
    assert type_in(alone, hints(done)[0]).code == 0
    assert alone.coord_json("status", code=1)["message"] == "git coord is not set up in this repository"


def test_the_keys_stay_so_that_one_can_come_back(trio: tuple[Repo, Repo, Repo]) -> None:
    _, alpha, _ = trio
    key = alpha.coord_json("whoami")["key"]
    alpha.coord_json("deinit")
    answer = alpha.coord_json("init", "--agent", "alpha", code=4)
    assert answer["next"].startswith("git coord rejoin")
    alpha.coord_json("rejoin", "--agent", "alpha")
    assert alpha.coord_json("whoami", "--agent", "alpha")["key"] == key


def test_a_name_that_is_refused_does_not_become_this_worktrees_name(tmp_path: Path, env: dict[str, str]) -> None:
    _, alpha, beta = hub_with_clones(tmp_path, env, ["alpha", "beta"])
    there = beta.with_env(XDG_STATE_HOME=str(tmp_path / "another machine"))
    alpha.coord_json("init")
    alpha.coord_json("claim", "README.md")
    there.coord_json("init")
    there.coord_json("hooks", "install")
    assert there.coord_json("init", "--agent", "alpha", code=4)["next"] == "git coord init --agent alpha-2"
    assert there.coord_json("whoami")["agent"] == "beta"
    assert [path.name for path in (tmp_path / "another machine").rglob("alpha*")] == []
    there.write("README.md", "mine\n")
    assert there.run("git", "commit", "-qam", "on what alpha holds").code == 1
