"""From commits through the installed hooks to signed notes: what is attached, what is dropped, what survives."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.helpers import Repo
from tests.verify.stage import Stage, push, succeed

from git_coord.app import App, open_app
from git_coord.errors import CoordError
from git_coord.service import receipts
from git_coord.store.interface import Swap

NOTES = "refs/notes/coord/alpha"


def app_of(repo: Repo) -> App:
    return open_app(str(repo.path), repo.env)


def settle(repo: Repo) -> int:
    app = app_of(repo)
    return receipts.settle(app.coord, app.history)


def notebook(repo: Repo) -> Path:
    return repo.path / ".git/coord/commits"


def lines(repo: Repo) -> list[str]:
    return notebook(repo).read_text().splitlines() if notebook(repo).exists() else []


def note(repo: Repo, commit: str, ref: str = NOTES) -> dict[str, Any]:
    """Return the statement in a commit's note, as git itself finds it."""
    statement = json.loads(repo.git("notes", "--ref", ref, "show", commit).splitlines()[0])
    assert isinstance(statement, dict)
    return statement


def entry(repo: Repo, commit: str) -> dict[str, Any]:
    return next(entry for entry in note(repo, commit)["commits"] if entry["commit"] == commit)


def there(repo: Repo, name: str) -> dict[str, str]:
    return {"blob": repo.rev(name), "mode": "100644"}


def noted(repo: Repo, ref: str = NOTES) -> set[str]:
    """Return the commits that have a note, as git lists them."""
    listed = repo.run("git", "notes", "--ref", ref, "list").out.splitlines()
    return {line.split(" ")[1] for line in listed}


def test_a_receipt_names_commit_head_and_the_blobs_under_ones_claims(stage: Stage) -> None:
    commit = stage.alpha.commit("mine", **{"a.txt": "2\n", "b.txt": "2\n"})
    assert settle(stage.alpha) == 1
    assert entry(stage.alpha, commit) == {
        "bypass": False,
        "commit": commit,
        "head": stage.alpha.rev("refs/coord/claims"),
        "paths": [
            {"after": there(stage.alpha, "HEAD:a.txt"), "before": there(stage.alpha, "HEAD^:a.txt"), "path": "a.txt"},
            {"after": there(stage.alpha, "HEAD:b.txt"), "before": there(stage.alpha, "HEAD^:b.txt"), "path": "b.txt"},
        ],
    }
    assert lines(stage.alpha) == []
    assert "Notes (coord/alpha):" in stage.alpha.git("log", "-1", "--notes=coord/*")


def test_stock_tools_verify_a_receipt(stage: Stage, tmp_path: Path) -> None:
    commit = stage.alpha.commit("mine", **{"a.txt": "2\n"})
    settle(stage.alpha)
    key = stage.alpha.coord_json("whoami")["key"]
    statement, _, armor = stage.alpha.git("notes", "--ref", NOTES, "show", commit).partition("\n")
    public = next((tmp_path / "state").rglob("alpha.pub")).read_text()
    assert key is not None
    (tmp_path / "allowed").write_text(f"alpha {public}")
    (tmp_path / "sig").write_text(armor + "\n")
    check = ["ssh-keygen", "-Y", "verify", "-f", str(tmp_path / "allowed"), "-I", "alpha", "-n", "git-coord"]
    assert stage.alpha.run(*check, "-s", str(tmp_path / "sig"), input=statement + "\n").code == 0


def test_a_deletion_is_a_null_blob_and_a_bypass_is_recorded(stage: Stage) -> None:
    stage.alpha.git("rm", "-q", "a.txt")
    deleted = stage.alpha.commit("gone")
    bypassed = stage.beta.with_env(GIT_COORD_BYPASS="1").commit("mine now", **{"a.txt": "b\n"})
    settle(stage.alpha), settle(stage.beta)
    before = there(stage.alpha, f"{deleted}^:a.txt")
    assert entry(stage.alpha, deleted)["paths"] == [{"after": None, "before": before, "path": "a.txt"}]
    [said] = note(stage.beta, bypassed, "refs/notes/coord/beta")["commits"]
    assert (said["bypass"], said["paths"]) == (True, [])


def test_the_head_is_that_of_the_commit_not_of_the_settling(stage: Stage) -> None:
    before, head = stage.beta.commit("before", **{"b.txt": "1\n"}), stage.beta.rev("refs/coord/claims")
    succeed(stage.beta, "claim", "b.txt")
    after = stage.beta.commit("after", **{"b.txt": "2\n"})
    succeed(stage.beta, "release", "--all")
    assert settle(stage.beta) in (0, 2)  # the release may have been asked to send them already
    said = {one["commit"]: one for one in note(stage.beta, after, "refs/notes/coord/beta")["commits"]}
    assert (said[before]["head"], [touched["path"] for touched in said[before]["paths"]]) == (head, ["b.txt"])
    assert [touched["path"] for touched in said[after]["paths"]] == ["b.txt"]


def test_an_amended_commit_gives_way_to_the_new_one(stage: Stage) -> None:
    old = stage.alpha.commit("old", **{"a.txt": "2\n"})
    stage.alpha.git("commit", "-q", "--amend", "-m", "new")
    assert settle(stage.alpha) == 1
    assert noted(stage.alpha) == {stage.alpha.rev("HEAD")}
    assert old not in noted(stage.alpha)


def test_rebased_commits_are_noted_and_what_another_branch_keeps_too(stage: Stage) -> None:
    alpha = stage.alpha
    alpha.git("checkout", "-q", "-b", "topic")
    first, second = alpha.commit("1", **{"a.txt": "1\n"}), alpha.commit("2", **{"a.txt": "2\n"})
    alpha.git("branch", "kept", first)
    alpha.git("checkout", "-q", "main")
    base = alpha.commit("elsewhere", **{"c.txt": "c\n"})
    alpha.git("rebase", "-q", "main", "topic")
    settle(alpha)
    assert noted(alpha) == {base, first, alpha.rev("topic~1"), alpha.rev("topic")}
    assert second not in noted(alpha)


def test_cherry_picks_and_reverts_are_noted(stage: Stage) -> None:
    alpha = stage.alpha
    alpha.git("checkout", "-q", "-b", "topic")
    picked = alpha.commit("pick me", **{"a.txt": "1\n"})
    alpha.git("checkout", "-q", "main")
    alpha.commit("ahead", **{"c.txt": "c\n"})
    alpha.git("cherry-pick", picked)
    copy = alpha.rev("HEAD")
    alpha.git("revert", "--no-edit", "HEAD")
    settle(alpha)
    assert {copy, alpha.rev("HEAD")} < noted(alpha)


def test_a_merge_lists_its_own_delta(stage: Stage) -> None:
    alpha = stage.alpha
    alpha.git("checkout", "-q", "-b", "side")
    alpha.commit("side", **{"c.txt": "c\n"})
    alpha.git("checkout", "-q", "main")
    alpha.commit("main", **{"d.txt": "d\n"})
    alpha.git("merge", "-q", "--no-commit", "side")
    merge = alpha.commit("merge", **{"a.txt": "evil\n"})
    settle(alpha)
    listed = entry(alpha, merge)["paths"]
    assert [(one["path"], one["before"]) for one in listed] == [("a.txt", there(alpha, "HEAD^1:a.txt"))]


def test_a_merge_in_conflict_lists_the_way_from_each_parent(stage: Stage) -> None:
    alpha = stage.alpha
    alpha.git("checkout", "-q", "-b", "side")
    alpha.commit("side", **{"a.txt": "side\n"})
    alpha.git("checkout", "-q", "main")
    alpha.commit("main", **{"a.txt": "main\n"})
    assert alpha.run("git", "merge", "side").code == 1
    merge = alpha.commit("merge", **{"a.txt": "both\n"})
    settle(alpha)
    listed = entry(alpha, merge)["paths"]
    assert [one["before"] for one in listed] == [there(alpha, f"HEAD^{n}:a.txt") for n in (1, 2)]
    assert {one["after"]["blob"] for one in listed} == {alpha.rev("HEAD:a.txt")}


def test_what_an_agent_held_is_kept_when_it_commits_it_anew_without(stage: Stage) -> None:
    """After a rebase the old commit is all that shows under which claim the change was made."""
    alpha = stage.alpha
    old = alpha.commit("old", **{"a.txt": "2\n"})
    succeed(alpha, "release", "--all", "--no-landed")
    alpha.git("commit", "-q", "--amend", "-m", "new")
    alpha.git("commit", "-q", "--amend", "-m", "newer")
    settle(alpha)
    assert noted(alpha) == {old, alpha.rev("HEAD")}


def test_lines_of_others_stay_and_a_line_of_nobody_goes(stage: Stage) -> None:
    alpha = stage.alpha
    commit = alpha.commit("x", **{"a.txt": "1\n"})
    head = alpha.rev("refs/coord/claims")
    with notebook(alpha).open("a") as file:
        file.write(f"commit {commit} {head} 0 gamma\ncommit {commit} {head} 0 -\ntorn")
    assert settle(alpha) == 1
    assert lines(alpha) == [f"commit {commit} {head} 0 gamma"]
    before = notebook(alpha).stat()
    assert settle(alpha) == 0
    assert notebook(alpha).stat() == before


def test_nothing_to_do_starts_no_process(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    app = app_of(stage.alpha)
    monkeypatch.setattr(app.git, "start", lambda *args, **kwargs: pytest.fail("a process"))
    assert receipts.settle(app.coord, app.history) == 0


def test_a_stranger_to_the_ledger_settles_nothing_and_loses_nothing(stage: Stage) -> None:
    gamma = stage.alpha.with_env(GIT_COORD_AGENT="gamma")
    gamma.commit("x", **{"c.txt": "1\n"})
    kept = lines(gamma)
    assert len(kept) == 1
    assert (settle(gamma), lines(gamma)) == (0, kept)


@pytest.mark.parametrize("point", ["before the swap", "after the swap", "after the others' lines"])
def test_a_run_killed_anywhere_loses_nothing(stage: Stage, monkeypatch: pytest.MonkeyPatch, point: str) -> None:
    commit = stage.alpha.commit("x", **{"a.txt": "1\n"})
    other = f"commit {commit} {stage.alpha.rev('refs/coord/claims')} 0 beta"
    with notebook(stage.alpha).open("a") as file:
        file.write(other + "\n")
    app = app_of(stage.alpha)
    killed = KeyboardInterrupt()

    def swap_and_die(*args: Any) -> Swap:
        if point != "before the swap":
            assert swap(*args) is Swap.MOVED
        raise killed

    swap = app.coord.store.swap
    if point == "after the others' lines":
        monkeypatch.setattr(type(app.coord.files), "remove", lambda *args: (_ for _ in ()).throw(killed))
    else:
        monkeypatch.setattr(app.coord.store, "swap", swap_and_die)
    with pytest.raises(KeyboardInterrupt):
        receipts.settle(app.coord, app.history)
    monkeypatch.undo()
    assert settle(stage.alpha) == (1 if point == "before the swap" else 0)
    assert noted(stage.alpha) == {commit}
    assert set(lines(stage.alpha)) == {other}
    assert list(notebook(stage.alpha).parent.glob("commits.taken-*")) == []


def test_what_a_hook_writes_while_the_file_is_taken_is_not_lost(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    first = stage.alpha.commit("1", **{"a.txt": "1\n"})
    late = notebook(stage.alpha).open("a")
    app = app_of(stage.alpha)
    swap, written = app.coord.store.swap, []

    def swap_meanwhile(*args: Any) -> Swap:
        if not written:
            written.append(stage.alpha.with_env(GIT_COORD_AGENT="alpha").commit("2", **{"a.txt": "2\n"}))
            late.write(lines(stage.alpha)[0] + "\n")
            late.close()
            notebook(stage.alpha).unlink()
        return swap(*args)

    monkeypatch.setattr(app.coord.store, "swap", swap_meanwhile)
    assert receipts.settle(app.coord, app.history) == 2
    assert noted(stage.alpha) == {first, *written}


def test_the_first_receipt_of_a_commit_stands(stage: Stage) -> None:
    commit = stage.alpha.commit("x", **{"a.txt": "1\n"})
    kept = lines(stage.alpha)[0]
    settle(stage.alpha)
    before = stage.alpha.rev(NOTES)
    notebook(stage.alpha).write_text(kept + "\n")
    assert settle(stage.alpha) == 0
    assert (stage.alpha.rev(NOTES), entry(stage.alpha, commit)["commit"]) == (before, commit)


def test_git_itself_may_append_and_the_receipt_still_counts(stage: Stage) -> None:
    commit = stage.alpha.commit("x", **{"a.txt": "1\n"})
    settle(stage.alpha)
    stage.alpha.git("notes", "--ref", NOTES, "append", "-m", "looked at", commit)
    second = stage.alpha.commit("y", **{"a.txt": "2\n"})
    stage.alpha.git("notes", "--ref", NOTES, "add", "-m", "words first", second)
    settle(stage.alpha)
    stage.alpha.git("push", "-q", "origin", "main")
    assert stage.alpha.git("notes", "--ref", NOTES, "show", second).startswith("words first\n\n{")
    assert stage.alpha.coord_json("verify", "HEAD~2..HEAD")["violations"] == []
    seqs = [note(stage.alpha, commit)["seq"], int(stage.alpha.git("log", "-1", "--format=%s", NOTES).split()[-1])]
    assert seqs == [1, 2]


def test_many_notes_fan_out_and_git_reads_them_all(stage: Stage) -> None:
    alpha, head = stage.alpha, stage.alpha.rev("refs/coord/claims")
    stream = "".join(
        f"commit refs/heads/many\ncommitter x <x> {n} +0000\ndata 0\n" + ("from main\n" if n == 1 else "")
        for n in range(1, 301)
    )
    alpha.git("fast-import", "--quiet", input=stream)
    commits = alpha.git("rev-list", "main..many").split()
    for part in (commits[:200], commits[200:]):
        with notebook(alpha).open("a") as file:
            file.writelines(f"commit {oid} {head} 0 alpha\n" for oid in part)
        assert settle(alpha) == len(part)
    assert noted(alpha) == set(commits)
    assert len(alpha.git("ls-tree", NOTES).splitlines()) <= 256
    assert {note(alpha, oid)["seq"] for oid in (commits[0], commits[-1])} == {1, 2}


def test_two_clones_of_one_agent_join_their_notes(stage: Stage) -> None:
    first = stage.alpha.commit("1", **{"a.txt": "1\n"})
    stage.alpha.git("push", "-q", "origin", "HEAD:one")
    assert stage.hub.rev(NOTES) == stage.alpha.rev(NOTES)
    session = stage.alpha.coord_json("whoami")["session"]
    again = Repo(stage.folder / "again", stage.alpha.env | {"GIT_COORD_SESSION": session})
    stage.hub.git("clone", "-q", str(stage.hub.path), str(again.path))
    succeed(again, "init", "--agent", "alpha")
    succeed(again, "hooks", "install")
    second = again.commit("2", **{"a.txt": "2\n"})
    again.git("push", "-q", "origin", "HEAD:two")
    third = stage.alpha.commit("3", **{"a.txt": "3\n"})
    stage.alpha.git("push", "-q", "origin", "HEAD:three")
    assert noted(stage.hub) == {first, second, third}


def test_a_ledger_that_does_not_verify_stops_it(stage: Stage) -> None:
    stage.alpha.commit("x", **{"a.txt": "1\n"})
    kept = lines(stage.alpha)
    bad = stage.alpha.git("commit-tree", "-p", "refs/coord/claims", "-m", "forged", "refs/coord/claims^{tree}")
    stage.alpha.git("update-ref", "refs/coord/claims", bad)
    with pytest.raises(CoordError) as caught:
        settle(stage.alpha)
    assert caught.value.kind.code == "untrusted"
    assert lines(stage.alpha) == kept


def test_sync_sends_the_receipts(stage: Stage) -> None:
    commit = stage.alpha.commit("x", **{"a.txt": "1\n"})
    push(stage.alpha, "main")
    succeed(stage.alpha, "sync")
    assert noted(stage.hub) == {commit}
