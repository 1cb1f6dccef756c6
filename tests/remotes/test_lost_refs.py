"""A hub that loses our refs, with real git: `push --mirror` from a clone without them, an old copy, some of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers import Repo

CLAIMS = "refs/coord/claims"


@pytest.fixture
def three(hub_and_clones: Callable[..., tuple[Repo, ...]]) -> tuple[Repo, ...]:
    """Return a hub and three clones in step; alpha claims a.txt then, which gamma has seen and beta has not."""
    hub, alpha, beta, gamma = hub_and_clones("alpha", "beta", "gamma")
    for clone, name in ((alpha, "alpha"), (beta, "beta"), (gamma, "gamma")):
        clone.coord_json("init", "--agent", name)
    for clone in (alpha, beta):
        clone.coord_json("sync")
    alpha.coord_json("claim", "a.txt", "-m", "the parser")
    gamma.coord_json("sync")
    return hub, alpha, beta, gamma


def mirror(hub: Repo, folder: Path) -> None:
    """Push everything from a clone without our refs, as a person does who moves a repository."""
    plain = Repo(folder / "plain", hub.env)
    if not plain.path.exists():
        hub.run("git", "clone", "-q", str(hub.path), str(plain.path))
    assert plain.run("git", "push", "-q", "--mirror", str(hub.path)).code == 0
    assert hub.refs("refs/coord", "refs/notes/coord") == {}


def holders(repo: Repo) -> dict[str, str]:
    """Return who holds what, as `status` says without asking."""
    claims = repo.coord_json("status", "--local")["claims"]
    return {item["path"]: claim["agent"] for claim in claims for item in claim["items"]}


def test_a_mirror_push_makes_no_second_holder(three: tuple[Repo, ...], tmp_path: Path) -> None:
    hub, alpha, beta, gamma = three
    mirror(hub, tmp_path)
    answer = beta.coord_json("claim", "a.txt", code=5)
    assert (answer["code"], answer["restored_by"]) == ("unknown", "beta")
    assert answer["next"].startswith("git coord claim a.txt --wait ")
    assert hub.git("log", "-3", "--format=%s", CLAIMS).splitlines() == [
        "beta cancels",
        "beta is refused claim a.txt (edit): restored",
        "beta restores the ledger",
    ]
    unknown = beta.coord_json("check", "a.txt", "free.txt", code=5)
    assert [row["status"] for row in unknown["resources"]] == ["unknown", "unknown"]
    assert "until" in unknown["message"]
    assert beta.coord_json("preflight", "a.txt", code=5)["decision"] == "unknown"
    status = beta.coord_json("status")
    assert (status["restored"]["by"], status["restored"]["on_hold"]) == ("beta", True)
    assert "placed again 1 operation that this clone had" in alpha.coord("sync").err
    assert beta.coord_json("claim", "a.txt", code=3)["holder"] == "alpha"
    assert beta.coord_json("check", "a.txt", code=3)["resources"][0]["holder"] == "alpha"
    assert gamma.coord("sync").code == 0
    assert gamma.coord_json("preflight", "free.txt", code=5)["reasons"][0]["kind"] == "restored"
    assert {clone.rev(CLAIMS) for clone in (alpha, beta, gamma)} | {hub.rev(CLAIMS)} == {
        alpha.rev(CLAIMS),
        beta.rev(CLAIMS),
    }
    assert [holders(clone) for clone in (alpha, gamma)] == [{"a.txt": "alpha"}] * 2
    assert alpha.coord("doctor").code == 0


def test_who_waits_in_line_has_it_when_a_maintainer_ends_the_hold(three: tuple[Repo, ...], tmp_path: Path) -> None:
    hub, alpha, beta, _ = three
    mirror(hub, tmp_path)
    beta.coord_json("sync")
    alpha.coord_json("sync")
    again = alpha.coord("claim", "a.txt")
    assert (again.code, "held already, as #2: unchanged" in again.err) == (0, True), again
    assert alpha.coord_json("check", "a.txt")["resources"][0]["status"] == "mine"
    wrong = alpha.coord_json("policy", "--restore-hold", "soon", code=2)
    assert wrong["message"].startswith("--restore-hold is 'soon', not a duration")
    assert alpha.coord_json("policy", "--restore-hold", "0s")["restore_hold"] == 0
    assert beta.coord_json("claim", "b.txt")["confirmed"] is True
    assert alpha.coord_json("policy", "--restore-hold", "15m")["restore_hold"] == 900


def test_edits_claim_nothing_while_it_is_on_hold(three: tuple[Repo, ...], tmp_path: Path) -> None:
    """What an edit hook claims here alone is refused by the same words: nobody is told "yours" beside alpha."""
    hub, _, beta, _ = three
    mirror(hub, tmp_path)
    beta.coord_json("sync")
    answer = beta.coord_json("claim", "--offline", "a.txt", code=5)
    assert answer["restored_by"] == "beta"
    assert holders(beta) == {}


def test_edit_hooks_claim_nothing_in_the_hold_and_say_until_when(three: tuple[Repo, ...], tmp_path: Path) -> None:
    hub, alpha, beta, _ = three
    mirror(hub, tmp_path)
    beta.coord_json("sync")
    denied = edited(beta, "b.txt")
    assert "beta put back a ledger that the remote had lost" in denied
    assert "nothing is granted" in denied
    assert holders(beta) == {}
    alpha.coord_json("sync")
    beta.coord_json("sync")
    assert "held by alpha" in edited(beta, "a.txt")
    assert edited(alpha, "a.txt") == "", "what is held goes on"


def edited(repo: Repo, name: str) -> str:
    """Return why an edit hook denies an edit, nothing where it does not."""
    payload = {"session_id": "s", "cwd": str(repo.path), "tool_name": "Edit"}
    payload |= {"tool_input": {"file_path": str(repo.path / name)}}  # type: ignore[dict-item]
    done = repo.run("git-coord", "hook", "claude-code", "pre-edit", input=json.dumps(payload))
    assert done.code == 0, done
    return done.out


def test_who_waits_has_it_when_the_hold_is_over(three: tuple[Repo, ...], tmp_path: Path) -> None:
    hub, alpha, beta, _ = three
    alpha.coord_json("policy", "--restore-hold", "2s")
    beta.coord_json("sync")
    mirror(hub, tmp_path)
    # The skew of the clocks is waited for, too; nobody has to end the hold.
    answer = beta.coord_json("claim", "b.txt", "--wait", "10m")
    assert (answer["confirmed"], answer["token"]) == (True, 2)
    alpha.coord_json("sync")
    assert holders(alpha) == {"a.txt": "alpha", "b.txt": "beta"}


@pytest.mark.parametrize("families", ["claims", "claims requests"])
def test_a_hub_that_lost_some_of_our_refs(three: tuple[Repo, ...], families: str) -> None:
    hub, alpha, beta, gamma = three
    for name in families.split():
        for ref in hub.refs(f"refs/coord/{name}"):
            hub.git("update-ref", "-d", ref)
    for clone in (beta, gamma, alpha, beta):
        assert clone.coord("sync").code == 0
    assert [holders(clone) for clone in (alpha, beta)] == [{"a.txt": "alpha"}] * 2
    assert beta.coord_json("claim", "a.txt", code=3)["holder"] == "alpha"


def test_a_hub_that_an_older_copy_was_mirrored_to(three: tuple[Repo, ...], tmp_path: Path) -> None:
    hub, alpha, beta, gamma = three
    copy = Repo(tmp_path / "copy", hub.env)
    hub.run("git", "clone", "-q", "--mirror", str(hub.path), str(copy.path))
    gamma.coord_json("claim", "g.txt")
    beta.coord_json("sync")
    alpha.coord_json("claim", "b.txt")
    assert copy.run("git", "push", "-q", "--mirror", str(hub.path)).code == 0
    assert "had gone back to" in beta.coord("claim", "b.txt").err
    alpha.coord_json("sync")
    assert beta.coord_json("claim", "b.txt", code=3)["holder"] == "alpha"
    gamma.coord_json("sync")
    assert holders(gamma) == {"a.txt": "alpha", "g.txt": "gamma", "b.txt": "alpha"}


def test_a_hub_that_takes_nothing_from_the_restorer(three: tuple[Repo, ...], tmp_path: Path) -> None:
    hub, alpha, beta, _ = three
    mirror(hub, tmp_path)
    hook = hub.write("hooks/pre-receive", "#!/bin/sh\necho only mirrors >&2\nexit 1\n")
    hook.chmod(0o755)
    for line in (["sync"], ["check", "b.txt"], ["claim", "b.txt"], ["status"], ["preflight", "b.txt"]):
        answer = beta.coord_json(*line, code=5)
        assert "origin lacks a part of the ledger that this clone knows" in answer["message"]
    assert "only mirrors" in answer["message"]
    hook.unlink()
    assert alpha.coord("sync").code == beta.coord("sync").code == 0
    assert holders(beta) == {"a.txt": "alpha"}


def test_a_commit_made_in_the_lost_part_passes_ci_after_it(three: tuple[Repo, ...], tmp_path: Path) -> None:
    """Its receipt names a head that the restored ledger does not have, and what that had is placed again."""
    hub, alpha, beta, _ = three
    alpha.coord_json("hooks", "install")
    mirror(hub, tmp_path)
    beta.coord_json("sync")
    alpha.commit("work under the claim", **{"a.txt": "work\n"})
    assert alpha.run("git", "push", "-q", "origin", "HEAD:main").code == 0
    alpha.coord_json("sync")
    beta.git("fetch", "-q", "origin")
    answer = beta.coord_json("verify", "origin/main~1..origin/main")
    assert answer["violations"] == []
