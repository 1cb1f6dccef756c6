"""Cases from real use that no other test shows: remotes, signatures, contention."""

from __future__ import annotations

import subprocess
import time

import pytest

from tests.cli.words import forget_sync
from tests.helpers import PATIENCE, Repo
from tests.verify.stage import Stage, kinds, push, succeed

FAMILIES = ("claims", "requests", "posts", "notes")


def test_case_02_a_remote_that_cannot_be_read_never_makes_a_claim_look_free(stage: Stage) -> None:
    alpha, beta = stage.alpha, stage.beta
    for repo in (alpha, beta):
        repo.git("config", "remote.origin.url", "/nonexistent")
        forget_sync(repo)
    for args in (["status"], ["check", "a.txt"], ["claim", "a.txt"], ["claim", "b.txt"]):
        answer = beta.coord_json(*args, code=5)
        assert (answer["code"], "/nonexistent" in answer["message"]) == ("unknown", True), answer
    local = beta.coord_json("claim", "b.txt", "--offline")
    assert local["confirmed"] is False
    beta.write("a.txt", "mine\n")
    refused = beta.run("git", "commit", "-qam", "x")
    assert (refused.code, "  a.txt   alpha #1" in refused.err) == (1, True)
    released = alpha.coord_json("release", "a.txt")
    assert (released["confirmed"], len(released["claims"])) == (False, 1)


def test_case_02_a_repository_that_git_refuses_lets_no_commit_through(stage: Stage) -> None:
    stage.beta.write("a.txt", "mine\n")
    stage.beta.git("add", "a.txt")
    head = stage.beta.rev("HEAD")
    other = stage.beta.with_env(GIT_TEST_ASSUME_DIFFERENT_OWNER="1")
    assert other.run("git", "commit", "-qm", "x").code == 128
    # The hook alone, as a client runs it that does not look at ownership itself.
    for line in (
        [".git/hooks/pre-commit"],
        [".git/hooks/pre-push", "origin", "url"],
        ["git-coord", "hook", "pre-commit"],
    ):
        done = other.run(*line, input="")
        assert (done.code != 0, "dubious ownership" in done.err) == (True, True), done
    assert stage.beta.rev("HEAD") == head


@pytest.mark.slow
@pytest.mark.parametrize("kept", [(), *((family,) for family in FAMILIES), *((f, "others") for f in FAMILIES)])
def test_case_07_a_hub_with_any_half_of_our_refs_is_made_whole_by_a_sync(stage: Stage, kept: tuple[str, ...]) -> None:
    hub, alpha, beta = stage.hub, stage.alpha, stage.beta
    alpha.coord_json("policy", "--restore-hold", "0")  # nobody was ahead: see tests/remotes for the while after it
    alpha.commit("mine", **{"a.txt": "1\n"})
    alpha.coord_json("post", "note")
    alpha.git("push", "-q", "origin", "main")
    beta.coord_json("sync")
    alpha.coord_json("sync")
    whole = hub.refs("refs/coord", "refs/notes/coord")
    assert {family_of(ref) for ref in whole} >= set(FAMILIES)
    keeps_others = "others" in kept
    for ref in whole:
        if (family_of(ref) in kept) == keeps_others:
            hub.git("update-ref", "-d", ref)
    assert beta.coord_json("sync")["lost"] == []
    assert beta.coord_json("claim", "b.txt")["confirmed"] is True
    assert alpha.coord_json("sync")["lost"] == []
    alpha.commit("more", **{"a.txt": "2\n"})  # receipts come back with the next ones
    alpha.git("push", "-q", "origin", "main")
    assert stage.checkout("ci").coord_json("verify", "HEAD~2..HEAD")["violations"] == []
    assert {family_of(ref) for ref in hub.refs("refs/coord", "refs/notes/coord")} >= set(FAMILIES)
    held = {item["path"]: claim["agent"] for claim in alpha.coord_json("status")["claims"] for item in claim["items"]}
    assert held == {"a.txt": "alpha", "b.txt": "beta"}
    assert [row["level"] for row in beta.coord_json("doctor")["findings"] if row["level"] != "ok"] == []


def family_of(ref: str) -> str:
    return "notes" if ref.startswith("refs/notes/") else ref.split("/")[2]


def test_case_07_a_hub_with_unrelated_refs_only_is_founded_in(stage: Stage) -> None:
    empty = stage.folder / "other.git"
    stage.hub.git("init", "-q", "--bare", str(empty))
    stage.beta.git("push", "-q", "--no-verify", str(empty), "main:refs/changes/1/head", "main:refs/coordinates/x")
    clone = Repo(stage.folder / "gamma", stage.hub.env)
    stage.hub.git("clone", "-q", str(empty), str(clone.path))
    assert clone.coord_json("init", "--agent", "gamma")["ledger"] == "new"
    assert clone.coord_json("claim", "a.txt")["confirmed"] is True


def test_case_30_a_mirror_push_is_judged_and_stumbles_over_no_ref_of_ours(stage: Stage) -> None:
    second = stage.folder / "second.git"
    stage.hub.git("init", "-q", "--bare", str(second))
    stage.beta.git("remote", "add", "second", str(second))
    stage.beta.git("config", "coord.remote", "origin")
    stage.beta.git("tag", "blob", stage.beta.rev("HEAD:a.txt"))
    done = stage.beta.run("git", "push", "-q", "--mirror", "second")
    assert (done.code, done.err) == (0, "")
    stage.beta.write("a.txt", "mine\n")
    stage.beta.git("commit", "-q", "--no-verify", "-am", "x")
    done = stage.beta.run("git", "push", "-q", "--mirror", "second")
    assert (done.code, "  a.txt   held by alpha #1 since " in done.err) == (1, True)


@pytest.mark.slow
def test_case_35_questions_during_a_rebase_never_stand_in_its_way(stage: Stage) -> None:
    beta = stage.beta
    base = beta.rev("HEAD")
    for number in range(50):
        beta.commit(f"{number}", **{"b.txt": f"{number}\n"})
    beta.git("checkout", "-q", "-b", "onto", base)
    beta.commit("onto", **{"c.txt": "c\n"})
    beta.git("checkout", "-q", "main")
    script = "while git coord status --local >/dev/null && git coord check --local b.txt >/dev/null; do :; done"
    with subprocess.Popen(["bash", "-c", script], cwd=beta.path, env=beta.env, stderr=subprocess.PIPE) as asking:
        done = beta.run("git", "rebase", "-q", "onto")
        still_asking = asking.poll() is None
        asking.terminate()
    assert (done.code, done.err, still_asking) == (0, "", True)
    assert beta.git("rev-list", "--count", f"{base}..HEAD") == "51"


def test_case_42_no_program_that_a_repository_names_signs_or_keeps_anybody_waiting(stage: Stage) -> None:
    trap = stage.folder / "trap"
    trap.write_text(f"#!/bin/sh\ntouch '{stage.folder}/trapped'\nexec sleep 600\n")
    trap.chmod(0o755)
    for key in (
        "gpg.program",
        "gpg.ssh.program",
        "gpg.openpgp.program",
        "core.sshCommand",
        "gpg.ssh.defaultKeyCommand",
    ):
        stage.alpha.git("config", key, str(trap))
    stage.alpha.git("config", "gpg.format", "openpgp")
    stage.alpha.git("config", "commit.gpgSign", "true")
    stage.alpha.git("config", "push.gpgSign", "true")
    began = time.monotonic()
    assert stage.alpha.coord_json("claim", "b.txt")["confirmed"] is True
    assert stage.alpha.coord_json("post", "note")["ok"] is True
    assert time.monotonic() - began < PATIENCE
    assert not (stage.folder / "trapped").exists()
    assert stage.beta.coord_json("claim", "b.txt", code=3)["holder"] == "alpha"


def test_case_43_what_git_does_to_text_and_json_never_reaches_a_signature(stage: Stage) -> None:
    name = "café \U0001f511.txt"
    for repo in (stage.alpha, stage.beta):
        repo.git("config", "core.autocrlf", "true")
        repo.git("config", "core.eol", "crlf")
        repo.git("config", "i18n.commitEncoding", "latin1")
        repo.git("config", "i18n.logOutputEncoding", "latin1")
        repo.write(".git/info/attributes", "* text=auto eol=crlf working-tree-encoding=UTF-16\n")
    stage.alpha.coord_json("claim", name, "--stamp", "ratio=0.00001", "--stamp", "n=9007199254740993")
    answer = stage.beta.coord_json("claim", name, code=3)
    stamps = [{"name": "ratio", "value": "0.00001"}, {"name": "n", "value": "9007199254740993"}]
    assert (answer["holder"], answer["path"]) == ("alpha", name)
    assert sorted(answer["caller_stamps"], key=str) == sorted(stamps, key=str)
    found = stage.beta.coord_json("doctor")["findings"]
    assert [row for row in found if row["level"] != "ok"] == []


def test_case_22_a_rewording_that_git_asks_no_hook_about_is_caught_by_push_and_ci(stage: Stage) -> None:
    beta = stage.beta
    beta.git("checkout", "-q", "-b", "topic")
    beta.write("a.txt", "mine\n")
    beta.git("commit", "-q", "--no-verify", "-am", "x")
    off = beta.with_env(GIT_SEQUENCE_EDITOR="sed -i 1s/pick/reword/", GIT_EDITOR="true", GIT_COORD_MODE="off")
    off.git("rebase", "-q", "-i", "HEAD~1")
    refused = beta.run("git", "push", "-q", "origin", "topic")
    assert (refused.code, f"  {beta.rev('HEAD')[:7]}  a.txt   held by alpha #1" in refused.err) == (1, True)
    push(beta, "topic")
    succeed(beta, "sync")
    answer = stage.checkout("ci", "--branch=topic").coord_json("verify", code=3)
    assert [(commit, path) for commit, path, _ in kinds(answer)] == [(beta.rev("HEAD"), "a.txt")]


def test_case_48_what_is_said_again_replaces_what_was_said_before(stage: Stage) -> None:
    def said(number: int) -> tuple[list[str], str]:
        stage.alpha.coord_json("presence", "set", "busy", "-m", f"step {number}")
        stage.alpha.coord_json("sync")
        return sorted(stage.hub.refs()), stage.hub.git("rev-list", "--objects", "--count", "--all")

    first = said(0)
    assert [said(number) for number in range(1, 5)] == [first] * 4
    forget_sync(stage.beta)
    assert "step 4" in str(stage.beta.coord_json("presence"))
