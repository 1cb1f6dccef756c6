"""`git coord verify` where CI runs it: fresh shallow clones, host merges, lost and forged receipts, bad ledgers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.helpers import Repo
from tests.verify.stage import Stage, kinds, push, succeed

NOTES = "refs/notes/coord"


def violation(repo: Repo, **files: str) -> str:
    """Commit past the hook."""
    for path, text in files.items():
        repo.write(path, text)
        repo.git("add", "--", path)
    repo.git("commit", "-q", "--no-verify", "-m", "past the hook")
    return repo.rev("HEAD")


def topic(repo: Repo, name: str = "topic") -> Repo:
    repo.git("checkout", "-q", "-b", name)
    return repo


def send(repo: Repo, name: str = "topic") -> None:
    """Push a branch past the hook, and the receipts."""
    push(repo, name)
    succeed(repo, "sync")


def release(stage: Stage) -> None:
    succeed(stage.alpha, "release", "--all")
    succeed(stage.beta, "sync")


def test_a_merge_at_depth_one_is_judged_against_its_first_parent(stage: Stage) -> None:
    topic(stage.beta).commit("fine", **{"b.txt": "1\n"})
    bad = violation(stage.beta, **{"a.txt": "b\n", "c.txt": "c\n"})
    stage.alpha.commit("main moves", **{"b.md": "x\n"})
    push(stage.alpha, "main")
    send(stage.beta)
    stage.merge("topic")
    ci = stage.checkout("ci", ref="refs/pull/1/merge")
    assert ci.git("rev-list", "--count", "HEAD") == "1"
    answer = ci.coord_json("verify", code=3)
    assert answer["commits"] == 3
    since = stage.alpha.coord_json("status")["claims"][0]["claimed_at"]
    step = "git fetch origin && git rebase --no-ff origin/main"
    assert answer["violations"] == [
        {
            "commit": bad,
            "author": "Test Person",
            "subject": "past the hook",
            "agents": ["beta"],
            "path": "a.txt",
            "holder": "alpha",
            "token": 1,
            "since": since,
            "kind": "held-then",
            "next": f"git coord post --to alpha 'need a.txt'      (once it is yours: {step})",
        }
    ]


def test_a_branch_at_depth_one_is_judged_from_where_it_left_the_default_branch(stage: Stage) -> None:
    topic(stage.beta)
    bad = [violation(stage.beta, **{"a.txt": text}) for text in ("1\n", "2\n", "3\n")]
    stage.alpha.commit("main moves", **{"b.md": "x\n"})
    push(stage.alpha, "main")
    send(stage.beta)
    ci = stage.checkout("ci", "--branch=topic")
    assert ci.git("rev-list", "--count", "HEAD") == "1"
    answer = ci.coord_json("verify", code=3)
    assert (answer["commits"], kinds(answer)) == (3, [(oid, "a.txt", "held-then") for oid in bad])


def test_a_range_by_names_behind_the_shallow_boundary_is_fetched(stage: Stage) -> None:
    bad = [violation(stage.beta, **{"a.txt": text}) for text in ("1\n", "2\n")]
    push(stage.beta, "main")
    ci = stage.checkout("ci")
    assert ci.git("rev-list", "--count", "HEAD") == "1"
    answer = ci.coord_json("verify", "HEAD~2..HEAD", code=3)
    assert (answer["commits"], [row["commit"] for row in answer["violations"]]) == (2, bad)
    assert ci.coord_json("verify", "HEAD~99..HEAD", code=2)["message"] == "'HEAD~99' names no commit here"


def test_the_default_branch_itself_is_judged_by_what_its_newest_commit_brought(stage: Stage) -> None:
    bad = violation(stage.beta, **{"a.txt": "1\n"})
    push(stage.beta, "main")
    ci = stage.checkout("ci")
    done = ci.coord("verify", "--json")
    answer = json.loads(done.out)
    assert (answer["commits"], kinds(answer)) == (1, [(bad, "a.txt", "no-receipt")])
    assert "give the range: git coord verify BEFORE..HEAD" in done.err
    assert ci.coord("verify", "HEAD~1..HEAD").err == ""


def test_people_read_commit_path_holder_and_reason(stage: Stage) -> None:
    bad = violation(topic(stage.beta), **{"a.txt": "1\n"})
    push(stage.beta, "topic")
    done = stage.checkout("ci", "--branch=topic").coord("verify")
    since = stage.alpha.coord("status").out
    first, row, step, age = done.out.splitlines()
    assert (done.code, done.err, first) == (3, "", "1 violation in 1 commit")
    assert row.startswith(f"  {bad[:7]}  a.txt   held by alpha #1 since ")
    assert row.endswith('   no receipt   "past the hook" by Test Person')
    assert step == (
        "next   git coord post --to alpha 'need a.txt'      "
        "(once it is yours: git commit --amend --no-edit; if you are alpha: git coord sync)"
    )
    assert age.endswith(" ago, origin")
    assert since


def test_what_the_holder_committed_passes_and_says_so(stage: Stage) -> None:
    topic(stage.alpha).commit("mine", **{"a.txt": "1\n"})
    stage.alpha.git("push", "-q", "origin", "topic")
    release(stage)
    done = stage.checkout("ci", "--branch=topic").coord("verify")
    assert (done.code, done.out.splitlines()[0]) == (0, "no violations in 1 commit")


def test_github_gets_an_escaped_annotation_for_each_violation(stage: Stage) -> None:
    succeed(stage.alpha, "claim", "path:odd,100%:\u00e9.txt")
    bad = violation(topic(stage.beta), **{"odd,100%:\u00e9.txt": "1\n"})
    push(stage.beta, "topic")
    ci = stage.checkout("ci", "--branch=topic")
    annotation = (
        "::error file=odd%2C100%25%3A\u00e9.txt,title=git coord::"
        f'{bad[:7]} ("past the hook" by Test Person) changes odd,100%25:\u00e9.txt: held by alpha #2, no receipt%0A'
        "git coord post --to alpha 'need odd,100%25:\u00e9.txt'      "
        "(once it is yours: git commit --amend --no-edit; if you are alpha: git coord sync)"
    )
    assert ci.with_env(GITHUB_ACTIONS="true").coord("verify").out.splitlines()[0] == annotation
    assert ci.coord("verify", "--github", "--local").out.splitlines()[0] == annotation
    done = ci.coord("verify", "--github", "--json")
    assert (json.loads(done.out)["violations"][0]["path"], done.err) == ("odd,100%:\u00e9.txt", annotation + "\n")


@pytest.mark.parametrize("how", ["cherry-pick", "revert", "rebase", "am", "commit -n", "commit-tree", "stash"])
def test_every_way_past_the_hook_is_caught(stage: Stage, how: str) -> None:
    beta = stage.beta
    base = beta.rev("HEAD")
    beta.git("checkout", "-q", "-b", "source")
    source = violation(beta, **{"a.txt": "theirs\n"})
    beta.git("checkout", "-q", "main")
    topic(beta)
    beta.commit("fine", **{"c.txt": "c\n"})
    match how:
        case "cherry-pick":
            beta.git("cherry-pick", source)
        case "revert":
            beta.git("merge", "-q", "--no-edit", "source")
            beta.git("revert", "--no-edit", source)
        case "rebase":
            beta.git("rebase", "-q", "--onto", "HEAD", base, "source")
            beta.git("branch", "-f", "topic", "source")
        case "am":
            beta.git("am", "-q", input=beta.git("format-patch", "-1", "--stdout", source) + "\n")
        case "commit -n":
            violation(beta, **{"a.txt": "theirs\n"})
        case "commit-tree":
            made = beta.git("commit-tree", "-p", "HEAD", "-m", "x", f"{source}^{{tree}}")
            beta.git("update-ref", "HEAD", made)
        case "stash":
            beta.write("a.txt", "stashed\n")
            beta.git("stash", "-q")
            beta.git("stash", "apply", "-q")
            violation(beta, **{"a.txt": "stashed\n"})
    pushed = beta.run("git", "push", "-q", "origin", "topic")
    assert (pushed.code, beta.rev("topic")[:7] in pushed.err) == (1, True), pushed
    send(beta)
    answer = stage.checkout("ci", "--branch=topic").coord_json("verify", code=3)
    assert (beta.rev("topic"), "a.txt") in [(commit, path) for commit, path, _ in kinds(answer)]


def test_an_amended_commit_keeps_its_right(stage: Stage) -> None:
    topic(stage.alpha).commit("mine", **{"a.txt": "1\n"})
    stage.alpha.git("commit", "-q", "--amend", "-m", "better words")
    stage.alpha.git("push", "-q", "origin", "topic")
    assert stage.checkout("ci", "--branch=topic").coord_json("verify")["commits"] == 1


def test_a_recorded_bypass_is_a_violation_of_its_own_kind(stage: Stage) -> None:
    bad = topic(stage.beta).with_env(GIT_COORD_BYPASS="1").commit("mine now", **{"a.txt": "1\n"})
    send(stage.beta)
    release(stage)
    assert kinds(stage.checkout("ci", "--branch=topic").coord_json("verify", code=3)) == [(bad, "a.txt", "bypass")]


def test_a_commit_against_a_claim_stays_one_until_it_is_committed_anew(stage: Stage) -> None:
    bad = violation(topic(stage.beta), **{"a.txt": "1\n"})
    send(stage.beta)
    release(stage)
    ci = stage.checkout("ci", "--branch=topic")
    assert kinds(ci.coord_json("verify", code=3)) == [(bad, "a.txt", "held-then")]
    stage.beta.git("commit", "-q", "--amend", "-m", "anew")
    stage.beta.git("push", "-q", "-f", "origin", "topic")
    succeed(stage.beta, "sync")
    assert stage.checkout("ci2", "--branch=topic").coord_json("verify")["violations"] == []


def test_a_file_claimed_after_the_commit_is_a_violation_unless_the_claimer_had_it(stage: Stage) -> None:
    made = topic(stage.beta).commit("free", **{"b.txt": "1\n"})
    send(stage.beta)
    succeed(stage.alpha, "claim", "b.txt")
    ci = stage.checkout("ci", "--branch=topic")
    assert kinds(ci.coord_json("verify", code=3)) == [(made, "b.txt", "held-now")]
    stage.alpha.git("fetch", "-q", "origin", "topic")
    stage.alpha.git("checkout", "-q", "-B", "topic", "FETCH_HEAD")
    succeed(stage.alpha, "claim", "b.txt")
    assert ci.coord_json("verify")["violations"] == []


def test_a_squash_by_the_host_passes_for_the_holder(stage: Stage) -> None:
    topic(stage.alpha).commit("1", **{"a.txt": "1\n"})
    stage.alpha.commit("2", **{"a.txt": "2\n", "b.txt": "2\n"})
    stage.alpha.git("push", "-q", "origin", "topic")
    stage.squash("topic")
    stage.hub.git("branch", "-D", "topic")
    assert stage.checkout("ci").coord_json("verify")["violations"] == []


def test_a_rebase_by_the_host_passes_for_the_holder(stage: Stage) -> None:
    alpha = topic(stage.alpha)
    alpha.commit("1", **{"a.txt": "1\n"})
    alpha.commit("2", **{"a.txt": "2\n"})
    alpha.git("push", "-q", "origin", "topic")
    host = alpha.with_env(GIT_COMMITTER_NAME="host", GIT_COMMITTER_EMAIL="noreply@host")
    tip = "main"
    for commit in ("topic~1", "topic"):
        tip = host.git("commit-tree", f"{commit}^{{tree}}", "-p", tip, "-m", "rebased")
    before = stage.hub.rev("main")
    push(alpha, f"{tip}:main")
    answer = stage.checkout("ci").coord_json("verify", f"{before}..HEAD")
    assert (answer["commits"], answer["violations"]) == (2, [])


def test_two_agents_commits_squashed_into_one_pass_path_by_path(stage: Stage) -> None:
    succeed(stage.beta, "claim", "b.txt")
    topic(stage.alpha).commit("alphas", **{"a.txt": "1\n"})
    stage.alpha.git("push", "-q", "origin", "topic")
    stage.beta.git("fetch", "-q")
    stage.beta.git("checkout", "-q", "topic")
    stage.beta.commit("betas", **{"b.txt": "1\n"})
    stage.beta.git("push", "-q", "origin", "topic")
    stage.squash("topic")
    assert stage.checkout("ci").coord_json("verify")["violations"] == []


def test_a_squash_of_what_did_not_pass_does_not_pass(stage: Stage) -> None:
    violation(topic(stage.beta), **{"a.txt": "1\n"})
    send(stage.beta)
    squashed = stage.squash("topic")
    assert kinds(stage.checkout("ci").coord_json("verify", code=3)) == [(squashed, "a.txt", "no-receipt")]


def test_a_strangers_revert_to_what_the_holder_had_replaced_is_caught(stage: Stage) -> None:
    stage.alpha.commit("1", **{"a.txt": "1\n"})
    stage.alpha.commit("2", **{"a.txt": "2\n"})
    stage.alpha.git("push", "-q", "origin", "main")
    host = stage.hub.with_env(GIT_COMMITTER_NAME="host", GIT_COMMITTER_EMAIL="noreply@host")
    reverted = host.git("commit-tree", "main~1^{tree}", "-p", "main", "-m", "Revert 2")
    host.git("update-ref", "refs/heads/main", reverted)
    assert kinds(stage.checkout("ci").coord_json("verify", code=3)) == [(reverted, "a.txt", "no-receipt")]


def test_lost_receipts_are_no_receipts(stage: Stage) -> None:
    commit = topic(stage.alpha).commit("mine", **{"a.txt": "1\n"})
    stage.alpha.git("push", "-q", "origin", "topic")
    stage.hub.git("update-ref", "-d", f"{NOTES}/alpha")
    assert kinds(stage.checkout("ci", "--branch=topic").coord_json("verify", code=3)) == [
        (commit, "a.txt", "no-receipt")
    ]


def forge(stage: Stage, commit: str, ref: str, **changes: object) -> None:
    """Attach a receipt of alpha's to another commit, with the statement rewritten and nothing signed anew."""
    record = stage.alpha.git("notes", "--ref", f"{NOTES}/alpha", "show", stage.alpha.rev("topic"))
    statement, _, armor = record.partition("\n")
    fields = json.loads(statement)
    fields["commits"][0] |= {"commit": commit}
    line = json.dumps(fields | changes, sort_keys=True, separators=(",", ":"))
    stage.beta.git("notes", "--ref", ref, "add", "-f", "-m", f"{line}\n{armor}", commit)
    stage.beta.git("push", "-q", "-f", "--no-verify", "origin", ref)


@pytest.mark.parametrize("ref", [f"{NOTES}/alpha", f"{NOTES}/beta", f"{NOTES}/stranger", f"{NOTES}/Not.an-agent"])
def test_a_forged_receipt_counts_as_none(stage: Stage, ref: str) -> None:
    topic(stage.alpha).commit("mine", **{"a.txt": "1\n"})
    stage.alpha.git("push", "-q", "origin", "topic")
    bad = violation(topic(stage.beta, "other"), **{"a.txt": "2\n"})
    push(stage.beta, "other")
    stage.hub.git("update-ref", "-d", f"{NOTES}/alpha")
    forge(stage, bad, ref)
    assert kinds(stage.checkout("ci", "--branch=other").coord_json("verify", code=3)) == [(bad, "a.txt", "no-receipt")]


def test_a_receipt_moved_to_another_commit_counts_as_none(stage: Stage) -> None:
    topic(stage.alpha).commit("mine", **{"a.txt": "1\n"})
    stage.alpha.git("push", "-q", "origin", "topic")
    bad = violation(topic(stage.beta, "other"), **{"a.txt": "2\n"})
    push(stage.beta, "other")
    ref = f"{NOTES}/alpha"
    stage.beta.git("fetch", "-q", "origin", f"{ref}:{ref}", "topic")
    stage.beta.git("notes", "--ref", ref, "copy", stage.alpha.rev("topic"), bad)
    stage.beta.git("push", "-q", "--no-verify", "origin", ref)
    assert kinds(stage.checkout("ci", "--branch=other").coord_json("verify", code=3)) == [(bad, "a.txt", "no-receipt")]


def rewind(stage: Stage) -> None:
    """Take the ledger back by one operation, and with it the requests that name the lost head."""
    stage.hub.git("update-ref", "refs/coord/claims", "refs/coord/claims~1")


def test_a_receipt_whose_head_the_ledger_lacks_shows_that_it_has_gone_back(stage: Stage) -> None:
    succeed(stage.alpha, "claim", "b.txt")
    head = stage.hub.rev("refs/coord/claims")
    topic(stage.alpha).commit("mine", **{"b.txt": "1\n"})
    stage.alpha.git("push", "-q", "origin", "topic")
    rewind(stage)
    answer = stage.checkout("ci", "--branch=topic").coord_json("verify", code=6)
    assert (answer["code"], answer["agent"], answer["head"]) == ("untrusted", "alpha", head)
    assert answer["message"] == f"the ledger has gone back: alpha signed that it contained {head[:10]}"


def test_a_ledger_that_is_gone_is_untrusted_and_none_at_all_is_an_error(stage: Stage) -> None:
    claims = stage.hub.rev("refs/coord/claims")
    stage.hub.git("update-ref", "-d", "refs/coord/claims")
    assert stage.checkout("ci").coord_json("verify", code=6)["message"] == (
        "the ledger is gone, but not what refers to it"
    )
    for ref in stage.hub.refs("refs/coord", "refs/notes"):
        stage.hub.git("update-ref", "-d", ref)
    assert stage.checkout("ci2").coord_json("verify", code=1)["next"] == "git coord init"
    assert claims


def test_a_forged_ledger_commit_is_named(stage: Stage) -> None:
    hub = stage.hub.with_env(GIT_AUTHOR_NAME="x", GIT_AUTHOR_EMAIL="x", GIT_COMMITTER_NAME="x", GIT_COMMITTER_EMAIL="x")
    forged = hub.git("commit-tree", "-p", "refs/coord/claims", "-m", "x", "refs/coord/claims^{tree}")
    hub.git("update-ref", "refs/coord/claims", forged)
    assert stage.checkout("ci").coord_json("verify", code=6)["commit"] == forged


@pytest.mark.parametrize("pin", ["repo", "root"])
def test_the_ledger_that_the_base_branch_pins_is_the_only_one(stage: Stage, pin: str) -> None:
    value = "00000000-0000-4000-8000-000000000001" if pin == "repo" else "1" * 40
    violation(stage.alpha, **{".coord.toml": f'[ledger]\n{pin} = "{value}"\n'})
    push(stage.alpha, "main")
    topic(stage.alpha).git("rm", "-q", ".coord.toml")
    stage.alpha.git("commit", "-q", "--no-verify", "-m", "unpin")
    push(stage.alpha, "topic")
    assert "pins" in stage.checkout("ci", "--branch=topic").coord_json("verify", code=6)["message"]


def test_the_right_pin_passes(stage: Stage) -> None:
    root = stage.hub.git("rev-list", "--max-parents=0", "refs/coord/claims")
    repo = stage.alpha.git("config", "coord.repo")
    stage.alpha.commit("pin", **{".coord.toml": f'[ledger]\nrepo = "{repo}"\nroot = "{root}"\n'})
    push(stage.alpha, "main")
    topic(stage.alpha).commit("x", **{"c.txt": "1\n"})
    push(stage.alpha, "topic")
    ci = stage.checkout("ci", "--branch=topic")
    assert ci.coord_json("verify")["violations"] == []
    assert ci.coord_json("verify", "--local")["violations"] == []


def test_rules_are_those_of_the_base_branch(stage: Stage) -> None:
    rules = '[claims]\nrequired = ["src"]\nexempt = ["a.txt"]\n'
    stage.alpha.commit("rules", **{".coord.toml": rules})
    push(stage.alpha, "main")
    stage.beta.git("pull", "-q")
    (topic(stage.beta).path / ".coord.toml").unlink()
    bad = violation(stage.beta, **{"a.txt": "exempt\n", "src/x.py": "unclaimed\n"})
    send(stage.beta)
    answer = stage.checkout("ci", "--branch=topic").coord_json("verify", code=3)
    assert kinds(answer) == [(bad, "src/x.py", "unclaimed")]
    assert (answer["violations"][0]["holder"], answer["violations"][0]["token"]) == (None, None)


def test_without_an_answer_it_is_unknown(stage: Stage) -> None:
    violation(topic(stage.beta), **{"a.txt": "1\n"})
    push(stage.beta, "topic")
    ci = stage.checkout("ci", "--branch=topic")
    stage.hub.path.rename(stage.folder / "away.git")
    assert ci.coord_json("verify", code=5)["code"] == "unknown"
    assert ci.coord_json("verify", "HEAD..HEAD", "--local", code=1)["next"] == "git coord init"


def test_a_history_that_stays_too_shallow_is_unknown(stage: Stage) -> None:
    topic(stage.beta).commit("1", **{"c.txt": "1\n"})
    stage.beta.commit("2", **{"c.txt": "2\n"})
    push(stage.beta, "topic")
    ci = stage.checkout("ci", "--branch=topic")
    base, tip = stage.hub.rev("main"), stage.hub.rev("topic")
    ci.git("fetch", "-q", "--depth=1", "origin", base)
    answer = ci.coord_json("verify", f"{base}..{tip}", "--local", code=5)
    assert answer["message"] == "history too shallow: not all that is to be judged is here"
    assert ci.coord_json("verify", f"{base}..{tip}")["commits"] == 2


def test_a_range_by_ids_that_a_shallow_clone_lacks_is_fetched(stage: Stage) -> None:
    before = stage.hub.rev("main")
    bad = violation(stage.beta, **{"a.txt": "1\n"})
    stage.beta.commit("fine", **{"c.txt": "1\n"})
    send(stage.beta, "main")
    answer = stage.checkout("ci").coord_json("verify", f"{before}..{stage.beta.rev('HEAD')}", code=3)
    assert (answer["commits"], kinds(answer)) == (2, [(bad, "a.txt", "held-then")])


def test_an_old_server_that_gives_only_tips_is_asked_for_what_lies_behind_them(stage: Stage) -> None:
    """Plain sshd does not pass GIT_PROTOCOL on, so git there speaks version 0."""
    before = stage.hub.rev("main")
    bad = violation(stage.beta, **{"a.txt": "1\n"})
    stage.beta.commit("fine", **{"c.txt": "1\n"})
    send(stage.beta, "main")
    ci = stage.checkout("ci")
    ci.git("config", "protocol.version", "0")
    answer = ci.coord_json("verify", f"{before}..HEAD", code=3)
    assert (answer["commits"], kinds(answer)) == (2, [(bad, "a.txt", "held-then")])
    answer = ci.coord_json("verify", f"{'1' * 40}..HEAD~1", code=3)
    assert (answer["commits"], kinds(answer)) == (1, [(bad, "a.txt", "held-then")])


@pytest.mark.parametrize("before", ["0" * 40, "1" * 40])
@pytest.mark.parametrize("options", [(), ("--local",)])
def test_a_before_of_zeros_or_of_nowhere_is_where_the_branch_left_the_default_branch(
    stage: Stage, before: str, options: tuple[str, ...]
) -> None:
    topic(stage.beta).commit("fine", **{"c.txt": "1\n"})
    bad = violation(stage.beta, **{"a.txt": "1\n"})
    send(stage.beta)
    done = stage.beta.coord("verify", *options, f"{before}..{bad}", "--json")
    answer = json.loads(done.out)
    assert (answer["commits"], kinds(answer)) == (2, [(bad, "a.txt", "held-then")])
    said = "git coord: 1111111111 is nowhere any more; judged from where the branch left the default branch\n"
    assert done.err == ("" if before.startswith("0") else said)
    if not options:
        assert stage.checkout("ci", "--branch=topic").coord_json("verify", f"{before}..HEAD", code=3)["commits"] == 2


def test_a_branch_that_took_main_in_is_judged_as_a_whole(stage: Stage) -> None:
    """What the button "update branch" makes: its first parent is the branch, which must not go unjudged."""
    bad = violation(topic(stage.beta), **{"a.txt": "1\n"})
    stage.alpha.commit("main moves", **{"b.md": "x\n"})
    push(stage.alpha, "main")
    send(stage.beta)
    merged = stage.hub.git("merge-tree", "--write-tree", "topic", "main").splitlines()[0]
    tip = stage.hub.git("commit-tree", merged, "-p", "topic", "-p", "main", "-m", "update branch")
    stage.hub.git("update-ref", "refs/heads/topic", tip)
    answer = stage.checkout("ci", "--branch=topic").coord_json("verify", code=3)
    assert (answer["commits"], kinds(answer)) == (2, [(bad, "a.txt", "held-then")])


def steps(repo: Repo, *args: str) -> list[str]:
    """Return what verify says is to be typed."""
    lines = repo.coord("verify", *args).out.splitlines()
    first = next(n for n, line in enumerate(lines) if line.startswith("next   "))
    return [line[7:] for line in lines[first:-1]]


def test_nobody_is_sent_to_ask_itself(stage: Stage) -> None:
    bad = violation(topic(stage.alpha), **{"a.txt": "1\n"})
    stage.alpha.commit("more", **{"c.txt": "1\n"})
    (stage.alpha.path / ".git/coord/commits").unlink()
    push(stage.alpha, "topic")
    assert steps(stage.alpha) == [
        "git fetch origin && git rebase --no-ff origin/main      (your claim, but the commit has no receipt)"
    ]
    stage.alpha.git("rebase", "-q", "--no-ff", "origin/main")
    assert stage.alpha.coord_json("verify")["violations"] == []
    assert bad


def test_a_branch_behind_a_claim_that_is_over_is_to_be_brought_up_to_date(stage: Stage) -> None:
    bad = violation(topic(stage.beta), **{"a.txt": "1\n"})
    stage.beta.commit("more", **{"c.txt": "1\n"})
    send(stage.beta)
    release(stage)
    [step] = steps(stage.beta)
    assert step == (
        "git coord claim a.txt && git fetch origin && git rebase --no-ff origin/main      (alpha has released it)"
    )
    assert stage.beta.run("sh", "-c", step.partition("      ")[0]).code == 0
    assert stage.beta.coord_json("verify")["violations"] == []
    assert bad


def test_what_has_landed_is_told_to_its_holder_and_never_to_be_rebased(stage: Stage) -> None:
    bad = violation(topic(stage.beta), **{"a.txt": "1\n"})
    push(stage.beta, "topic")
    squashed = stage.squash("topic")
    [step] = steps(stage.checkout("ci"))
    said = f"git coord post --to alpha '{squashed[:7]} changed a.txt'"
    assert step == f"{said}      (it has landed: its holder can merge it and claim again; or revert it)"
    assert stage.beta.run("sh", "-c", said).code == 0
    assert bad


@pytest.mark.parametrize(
    "asked", ["HEAD", "HEAD...HEAD", "nowhere..HEAD", "HEAD..nowhere", "HEAD:a.txt..HEAD", "-x..y"]
)
def test_a_range_that_names_nothing_is_a_usage_error(stage: Stage, asked: str) -> None:
    arguments = ["--", asked] if asked.startswith("-") else [asked]
    done = stage.alpha.run("git", "coord", "verify", "--json", *arguments)
    assert (done.code, json.loads(done.out)["code"]) == (2, "usage")


def test_a_root_commit_is_judged_like_any_other(stage: Stage) -> None:
    stage.beta.git("checkout", "-q", "--orphan", "topic")
    root = violation(stage.beta, **{"a.txt": "other\n"})
    send(stage.beta)
    answer = stage.beta.coord_json("verify", code=3)
    assert (root, "a.txt", "held-then") in kinds(answer)


def test_a_ledger_without_a_remote_is_judged_too(repo: Repo, tmp_path: Path) -> None:
    succeed(repo, "init", "--agent", "alpha")
    succeed(repo, "hooks", "install")
    succeed(repo, "claim", "README.md")
    repo.commit("mine", **{"README.md": "1\n"})
    other = repo.with_env(GIT_COORD_AGENT="beta")
    bad = violation(other, **{"README.md": "2\n"})
    answer = repo.coord_json("verify", "HEAD~2..HEAD", code=3)
    assert (answer["commits"], kinds(answer)) == (2, [(bad, "README.md", "no-receipt")])


def test_a_sha256_repository_at_depth_one(tmp_path: Path, env: dict[str, str]) -> None:
    hub, alpha = Repo(tmp_path / "hub.git", env), Repo(tmp_path / "alpha", env)
    for path, option in ((hub.path, "--bare"), (alpha.path, "--quiet")):
        path.mkdir()
        Repo(path, env).git("init", "-q", "--object-format=sha256", option)
    alpha.git("remote", "add", "origin", str(hub.path))
    alpha.commit("first", **{"a.txt": "1\n"})
    alpha.git("push", "-q", "origin", "main")
    succeed(alpha, "init", "--agent", "alpha")
    succeed(alpha, "claim", "a.txt")
    alpha.git("checkout", "-q", "-b", "topic")
    bad = violation(alpha, **{"a.txt": "2\n"})
    push(alpha, "topic")
    ci = Repo(tmp_path / "ci", env)
    hub.git("clone", "-q", "--depth=1", "--branch=topic", f"file://{hub.path}", str(ci.path))
    assert kinds(ci.coord_json("verify", code=3)) == [(bad, "a.txt", "no-receipt")]
