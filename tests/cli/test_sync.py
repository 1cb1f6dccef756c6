"""`git coord sync` and `doctor`: what an exchange reports, what is lost, and what is wrong here."""

from __future__ import annotations

from pathlib import Path

from tests.cli.words import plain_json, said, type_in
from tests.helpers import Repo
from tests.helpers.repo import hub_with_clones


def test_an_exchange_without_news_says_so(pair: tuple[Repo, Repo]) -> None:
    alpha, _ = pair
    alpha.coord_json("sync")
    assert said(alpha.coord("sync")) == (0, "in step with origin: nothing new, 0 refs pushed\n", "")
    assert plain_json(alpha.coord_json("sync")) == {
        "ok": True,
        "code": "ok",
        "remote": "origin",
        "head": "<commit>",
        "moved": False,
        "placed": [],
        "lost": [],
        "settled": [],
        "pushed": 0,
        "as_of": "<stamp>",
    }


def test_without_a_remote_there_is_nothing_to_exchange(alone: Repo) -> None:
    assert said(alone.coord("sync")) == (0, "no remote, nothing to exchange\n", "")


def test_a_pending_claim_that_lost_is_reported_with_exit_four(trio: tuple[Repo, Repo, Repo]) -> None:
    hub, alpha, beta = trio
    alpha.coord_json("sync")
    hub.path.rename(hub.path.with_name("gone"))
    alpha.coord_json("claim", "a", "--offline")
    hub.path.with_name("gone").rename(hub.path)
    beta.coord_json("claim", "a")
    code, out, err = said(alpha.coord("sync"))
    assert (code, err) == (4, "")
    first, second, third = out.splitlines()
    assert first.startswith("lost     alpha ")
    assert second == "next     git coord status"
    assert third.startswith("in step with origin: the ledger moved, ")
    assert [claim["agent"] for claim in alpha.coord_json("status")["claims"]] == ["beta"]
    assert type_in(alpha, "git coord status").code == 0
    assert alpha.coord_json("sync")["lost"] == []


def test_a_broken_ledger_at_the_remote_is_refused_and_repaired(trio: tuple[Repo, Repo, Repo]) -> None:
    hub, alpha, beta = trio
    beta.coord_json("sync")
    tip = hub.rev("refs/coord/claims")
    tree = hub.rev(f"{tip}^{{tree}}")
    bad = hub.git("commit-tree", tree, "-p", tip, "-m", "mine")
    hub.git("update-ref", "refs/coord/claims", bad)
    answer = alpha.coord_json("sync", code=6)
    assert (answer["code"], answer["commit"], answer["kept"]) == ("untrusted", bad, tip)
    assert alpha.rev("refs/coord/claims") == tip
    assert alpha.coord_json("check", "a", code=6)["code"] == "untrusted"
    code, out, _ = said(alpha.coord("doctor", "--repair-ledger"))
    assert code == 0
    assert out.startswith("the ledger is at <short> now; what was wrong: ")
    assert hub.rev("refs/coord/claims") == tip
    assert alpha.coord_json("sync")["head"] == tip
    assert said(alpha.coord("doctor", "--repair-ledger")) == (0, "the ledger needs no repair\n", "")


def test_doctor_reads_everything_and_finds_nothing_wrong(pair: tuple[Repo, Repo]) -> None:
    alpha, _ = pair
    assert type_in(alpha, "git coord hooks install").code == 0
    code, out, err = said(alpha.coord("doctor"))
    lines = out.splitlines()
    assert (code, err) == (0, "")
    assert lines[0].startswith("ok     git version ")
    assert lines[1:3] == [
        "ok     ledger <short>: 3 operations verified, 0 live claims",
        "ok     alpha is a member, with this key and session",
    ]
    assert "ok     origin answers" in lines
    assert {line[:5] for line in lines} == {"ok   "}


def test_doctor_names_what_mends_each_finding_and_it_does(pair: tuple[Repo, Repo]) -> None:
    alpha, _ = pair
    alpha.coord_json("hooks", "install")
    alpha.git("update-ref", "refs/coord/stray/x/y", "HEAD")
    alpha.git("config", "--add", "remote.origin.fetch", "+refs/coord/*:refs/coord/*")
    answer = alpha.coord_json("doctor", code=1)
    found = [(row["level"], row["next"]) for row in answer["findings"] if row["next"]]
    assert [level for level, _ in found] == ["note", "wrong"]
    for _, step in found:
        assert type_in(alpha, step).code == 0, step
    assert {row["level"] for row in alpha.coord_json("doctor")["findings"]} == {"ok"}


def test_doctor_says_once_what_mends_several_findings(alone: Repo) -> None:
    out = alone.coord("doctor").out
    assert out.count("does not fire") == 8
    assert out.count("git coord hooks install") == 1
    assert out.endswith("       next   git coord hooks install\n")
    assert type_in(alone, "git coord hooks install").code == 0
    assert "next" not in alone.coord("doctor").out


def test_hooks_are_installed_shown_and_removed_with_exact_words(alone: Repo) -> None:
    folder = alone.path / ".git/hooks"
    assert said(alone.coord("hooks", "install")) == (0, f"hooks    installed in {folder}\n", "")
    assert said(alone.coord("hooks", "install")) == (0, f"hooks    already in {folder}\n", "")
    assert alone.coord_json("hooks", "status")["hooks"][0] == {
        "hook": "pre-commit",
        "path": str(folder / "pre-commit"),
        "worktree": str(alone.path),
        "fires": True,
    }
    assert alone.coord_json("hooks", "uninstall")["changed"][0] == str(folder / "pre-commit")
    assert said(alone.coord("hooks", "uninstall")) == (0, "no hooks of git coord here\n", "")
    assert alone.coord_json("hooks", "status", code=1)["ok"] is False


def test_doctor_finds_a_bad_ledger_at_the_remote_and_its_step_mends_it(pair: tuple[Repo, Repo]) -> None:
    alpha, _ = pair
    alpha.coord_json("sync")
    tip = alpha.rev("refs/coord/claims")
    bad = alpha.git("commit-tree", "-p", tip, "-m", "forged", f"{tip}^{{tree}}")
    alpha.git("push", "-q", "origin", f"{bad}:refs/coord/claims")
    wrong = [row for row in alpha.coord_json("doctor", code=1)["findings"] if row["level"] == "wrong"]
    assert [(row["text"].split(": ")[:2], row["next"]) for row in wrong] == [
        (["the ledger at origin", f"commit {bad[:10]}"], "git coord doctor --repair-ledger")
    ]
    assert type_in(alpha, wrong[0]["next"]).code == 0
    assert alpha.coord_json("doctor")["ok"] is True


def test_a_sync_without_a_ledger_anywhere_says_that_nothing_is_set_up(tmp_path: Path, env: dict[str, str]) -> None:
    _, clone = hub_with_clones(tmp_path, env, ["alpha"])
    answer = clone.coord_json("sync", code=1)
    assert (answer["message"], answer["next"]) == ("git coord is not set up in this repository", "git coord init")
