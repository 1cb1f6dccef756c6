"""A clone with a verified ledger keeps to the place where that is, whatever is configured later."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.helpers import Completed, Repo, new_repo
from tests.remotes.pair import Pair
from tests.remotes.story import assert_one_line


def typed(repo: Repo, done: Completed) -> Completed:
    """Type the next command that was printed."""
    (step,) = [line.removeprefix("next   ") for line in done.err.splitlines() if line.startswith("next   ")]
    return repo.run(*shlex.split(step), check=True)


def prefix(pair: Pair) -> str:
    pair.beta.git("config", "coord.refPrefix", "refs/heads/coord")
    return "refs/heads/coord"


def another_remote(pair: Pair) -> str:
    pair.beta.git("clone", "-q", "--bare", str(pair.hub.path), str(pair.hub.path.parent / "fork.git"))
    pair.beta.git("remote", "add", "fork", str(pair.hub.path.parent / "fork.git"))
    pair.beta.git("config", "coord.remote", "fork")
    return "fork.git"


def another_url(pair: Pair) -> str:
    other = new_repo(pair.hub.path.parent / "other.git", pair.hub.env, "--bare")
    pair.beta.git("remote", "set-url", "origin", str(other.path))
    return "other.git"


def another_push_url(pair: Pair) -> str:
    other = new_repo(pair.hub.path.parent / "other.git", pair.hub.env, "--bare")
    pair.beta.git("config", "coord.remote", "origin")
    pair.beta.git("config", "remote.origin.pushurl", str(other.path))
    return "other.git"


def an_old_mirror(pair: Pair) -> str:
    pair.beta.git("clone", "-q", "--mirror", str(pair.hub.path), str(pair.hub.path.parent / "mirror.git"))
    assert pair.alpha.coord_json("claim", "a.txt")["confirmed"] is True
    assert pair.beta.coord("sync").code == 0
    pair.beta.git("remote", "set-url", "origin", str(pair.hub.path.parent / "mirror.git"))
    return "mirror.git"


def another_ledger(pair: Pair) -> str:
    other = new_repo(pair.hub.path.parent / "other.git", pair.hub.env, "--bare")
    stranger = replace(pair.beta, path=pair.hub.path.parent / "stranger")
    pair.beta.git("clone", "-q", str(other.path), str(stranger.path))
    assert stranger.coord_json("init", "--agent", "zoe")["ledger"] == "new"
    pair.beta.git("remote", "set-url", "origin", str(other.path))
    return "other.git"


CHANGES = (prefix, another_remote, another_url, another_push_url, an_old_mirror, another_ledger)


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_place_is_refused_at_every_door_and_the_next_line_sets_it_back(
    change: Callable[[Pair], str], pair: Pair
) -> None:
    if change is not an_old_mirror:
        assert pair.alpha.coord_json("claim", "a.txt")["confirmed"] is True
        assert pair.beta.coord("sync").code == 0
    where = change(pair)
    hubs = [Repo(path, pair.hub.env) for path in sorted(pair.hub.path.parent.glob("*.git"))]
    before, requests = [hub.refs() for hub in hubs], pair.beta.refs("refs/coord/requests")
    for line in (["claim", "b.txt"], ["claim", "b.txt", "--offline"], ["sync"], ["init"], ["release", "--all"]):
        done = pair.beta.coord(*line)
        if line[0] != "release":
            said = assert_one_line(done)
            assert (str(pair.hub.path) in said, where in said, "nothing was pushed" in said) == (True, True, True), said
    assert pair.beta.coord("check", "a.txt").code == 5
    assert [hub.refs() for hub in hubs] == before
    assert pair.beta.refs("refs/coord/requests") == requests
    typed(pair.beta, pair.beta.coord("sync"))
    assert pair.beta.coord_json("claim", "b.txt")["confirmed"] is True
    assert pair.beta.coord_json("check", "a.txt", code=3)["resources"][0]["holder"] == "alpha"


def test_the_same_hub_spelled_anew_or_renamed_is_the_same_place(pair: Pair) -> None:
    assert pair.alpha.coord_json("claim", "a.txt")["confirmed"] is True
    pair.beta.git("remote", "set-url", "origin", f"file://{pair.hub.path}")
    assert pair.beta.coord_json("claim", "b.txt")["confirmed"] is True
    pair.hub.path.rename(pair.hub.path.parent / "renamed.git")
    pair.set_url(str(pair.hub.path.parent / "renamed.git"))
    for clone in (pair.alpha, pair.beta):
        done = clone.coord("sync")
        assert (done.code, "place" in done.err) == (0, False), done
    assert pair.beta.coord_json("claim", "c.txt")["confirmed"] is True


def test_a_remote_that_is_added_later_changes_nothing(pair: Pair) -> None:
    assert pair.beta.coord("sync").code == 0
    pair.beta.git("remote", "add", "another", str(pair.hub.path.parent / "nowhere.git"))
    assert pair.beta.coord_json("claim", "b.txt")["confirmed"] is True
    assert pair.beta.coord_json("init")["remote"] == "origin"


def test_a_refusal_never_advises_another_prefix_to_who_has_a_ledger(pair: Pair) -> None:
    pair.hub.git("config", "receive.hideRefs", "refs/coord")
    done = pair.beta.coord("claim", "b.txt")
    assert (done.code, "refPrefix" in done.err) == (5, False), done


@pytest.mark.parametrize("words", ["quota exceeded", "no tags here"])
def test_a_hook_that_refuses_the_first_ledger_is_no_reason_for_another_prefix(
    words: str, hub: Repo, tmp_path: Path, env: dict[str, str]
) -> None:
    hub.git("clone", "-q", str(hub.path), str(tmp_path / "alpha"))
    alpha = Repo(tmp_path / "alpha", env)
    hook = hub.write("hooks/pre-receive", f"#!/bin/sh\necho '{words}' >&2; exit 1\n")
    hook.chmod(0o755)
    done = alpha.coord("init", "--agent", "alpha")
    assert (done.code, "refPrefix" in done.err, words in done.err) == (5, False, True), done


def fork(pair: Pair, name: str) -> Repo:
    """Return a clone of a fork; `upstream` is the hub."""
    own = pair.hub.path.parent / f"{name}.git"
    pair.hub.git("clone", "-q", "--bare", str(pair.hub.path), str(own))
    clone = replace(pair.alpha, path=pair.hub.path.parent / name)
    pair.hub.git("clone", "-q", str(own), str(clone.path))
    clone.git("remote", "add", "upstream", str(pair.hub.path))
    return clone


def test_in_a_fork_the_remote_with_the_ledger_is_advised(pair: Pair) -> None:
    clone = fork(pair, "carol")
    done = clone.coord("claim", "a.txt")
    assert (done.code, done.err.splitlines()[-1]) == (1, "next   git coord init")
    said = clone.coord("init", "--agent", "carol")
    assert (said.code, "upstream has a ledger" in said.err) == (1, True), said
    assert said.err.splitlines()[-1] == "next   git config coord.remote upstream"
    typed(clone, said)
    assert clone.coord_json("init", "--agent", "carol")["ledger"] == "adopted"


def test_without_a_ledger_the_remote_that_is_followed_is_advised_else_upstream(
    hub: Repo, tmp_path: Path, env: dict[str, str]
) -> None:
    pair = Pair(hub, *(replace(hub, path=tmp_path / name) for name in ("alpha", "beta")))
    clone = fork(pair, "carol")
    assert clone.coord("init").err.splitlines()[-1] == "next   git config coord.remote upstream"
    clone.git("remote", "rename", "upstream", "theirs")
    assert clone.coord("init").err.splitlines()[-1] == "next   git config coord.remote origin"
    clone.git("config", "branch.main.remote", "theirs")
    assert clone.coord("init").err.splitlines()[-1] == "next   git config coord.remote theirs"
    clone.git("remote", "set-url", "origin", "/nonexistent")
    assert clone.coord("init").err.splitlines()[-1] == "next   git config coord.remote theirs"


def tell(repo: Repo, **place: str) -> None:
    """Track where the ledger is."""
    rows = "".join(f'{key} = "{value}"\n' for key, value in place.items())
    repo.commit("where the ledger is", **{".coord.toml": f"[ledger]\n{rows}"})
    repo.git("push", "-q", "origin", "HEAD:main")


def test_a_tracked_file_names_remote_and_prefix_and_every_new_clone_follows(
    hub: Repo, tmp_path: Path, env: dict[str, str]
) -> None:
    pair = Pair(hub, *(replace(hub, path=tmp_path / name) for name in ("alpha", "beta")))
    hub.git("clone", "-q", str(hub.path), str(pair.alpha.path))
    tell(pair.alpha, url=f"file://{hub.path}", prefix="refs/heads/coord")
    assert pair.alpha.coord_json("init", "--agent", "alpha")["ledger"] == "new"
    assert pair.alpha.coord_json("claim", "a.txt")["confirmed"] is True
    assert list(hub.refs("refs/coord")) == []
    clone = fork(pair, "carol")
    assert clone.coord_json("init", "--agent", "carol")["remote"] == "upstream"
    assert clone.coord_json("claim", "a.txt", code=3)["holder"] == "alpha"
    pair.alpha.commit("later", **{"b.txt": "b\n"})
    pair.alpha.git("push", "-q", "origin", "HEAD:main")
    ci = replace(hub, path=tmp_path / "ci")  # which judges by the file of the base
    hub.git("clone", "-q", str(hub.path), str(ci.path))
    assert ci.coord_json("verify")["violations"] == []
    assert sorted(ci.refs("refs/coord-remote")) != []


def test_a_place_that_no_remote_has_is_added_by_who_types_it(pair: Pair, tmp_path: Path) -> None:
    tell(pair.alpha, url=str(pair.hub.path))
    other = tmp_path / "mirror.git"
    pair.hub.git("clone", "-q", "--bare", str(pair.hub.path), str(other))
    clone = replace(pair.alpha, path=tmp_path / "carol")
    pair.hub.git("clone", "-q", str(other), str(clone.path))
    said = clone.coord("init", "--agent", "carol")
    assert (said.code, said.err.splitlines()[-1]) == (1, f"next   git remote add ledger {pair.hub.path}")
    typed(clone, said)
    assert clone.coord_json("init", "--agent", "carol")["remote"] == "ledger"


@pytest.mark.parametrize(
    "place", [{"url": "ext::touch x"}, {"url": "--upload-pack=touch x"}, {"prefix": "refs/../x"}, {"prefix": "-x"}]
)
def test_a_place_that_could_run_something_is_no_place(place: dict[str, str], pair: Pair, tmp_path: Path) -> None:
    clone = replace(pair.alpha, path=tmp_path / "carol")
    pair.hub.git("clone", "-q", str(pair.hub.path), str(clone.path))
    tell(clone, **place)
    said = clone.coord("init", "--agent", "carol")
    assert (said.code, "line 2: ledger." in said.err) == (1, True), said
    assert not (clone.path / "x").exists()


def test_a_branch_that_names_another_place_moves_no_clone_that_has_a_ledger(pair: Pair) -> None:
    assert pair.beta.coord("sync").code == 0
    pair.beta.write(".coord.toml", '[ledger]\nurl = "https://evil.example/x"\nprefix = "refs/heads/evil"\n')
    assert pair.beta.coord_json("claim", "b.txt")["confirmed"] is True
    assert pair.beta.coord_json("init")["remote"] == "origin"
    notes = [row["text"] for row in pair.beta.coord_json("doctor")["findings"] if row["level"] == "note"]
    assert [note for note in notes if "https://evil.example/x" in note and "git coord move" in note] != []
