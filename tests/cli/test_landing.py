"""What a release leaves behind: who starts from an old version is told, and `--when-merged` waits for a branch."""

from __future__ import annotations

import pytest

from tests.cli.words import forget_sync, hints, plain_json, said, type_in
from tests.helpers import Repo


def _lands(repo: Repo, branch: str = "topic", *, release: tuple[str, ...] = ("--all",), **files: str) -> str:
    """Claim files, change them on a branch, push that, and release them; return the commit."""
    repo.coord_json("claim", *files)
    if repo.git("branch", "--show-current").strip() != branch:
        repo.git("checkout", "-q", "-b", branch)
    commit = repo.commit("work", **files)
    repo.git("push", "-q", "origin", branch)
    assert repo.coord("release", *release).code == 0
    return commit


def _squash(hub: Repo, branch: str) -> str:
    """Move the hub's main to one commit with all of a branch, as a host does."""
    tree = hub.git("merge-tree", "--write-tree", "main", branch).splitlines()[0]
    made = hub.git("commit-tree", tree, "-p", "main", "-m", "squash (#1)").strip()
    hub.git("update-ref", "refs/heads/main", made)
    return made


def test_a_claim_of_what_was_landed_elsewhere_warns_and_says_what_to_fetch(pair: tuple[Repo, Repo]) -> None:
    alpha, beta = pair
    commit = _lands(alpha, **{"a.txt": "1\n", "b.txt": "1\n"})
    done = beta.coord("claim", "a.txt", "b.txt", "c.txt")
    step = f"git fetch origin topic && git merge {commit[:10]}"
    assert done.code == 0
    assert done.out.splitlines()[-2:] == [
        f"warning   your HEAD lacks what alpha landed in a.txt and 1 more: {commit[:10]} on topic",
        f"          {step}",
    ]
    assert beta.coord_json("claim", "a.txt")["warnings"] == [
        {
            "code": "stale_base",
            "agent": "alpha",
            "branch": "topic",
            "commit": commit,
            "paths": ["a.txt"],
            "next": step,
        }
    ]
    assert type_in(beta, step).code == 0
    assert beta.coord_json("claim", "--require-fresh", "a.txt")["warnings"] == []


def test_require_fresh_refuses_with_exit_7_and_claims_nothing(pair: tuple[Repo, Repo]) -> None:
    alpha, beta = pair
    commit = _lands(alpha, **{"a.txt": "1\n"})
    done = beta.coord("claim", "--require-fresh", "a.txt", "c.txt")
    assert said(done) == (
        7,
        "",
        f"git coord: nothing claimed: your HEAD lacks what alpha landed in a.txt: {commit[:10]} on topic\n".replace(
            commit[:10], "<short>"
        )
        + "next   git fetch origin topic && git merge <short>\n",
    )
    answer = beta.coord_json("claim", "--require-fresh", "a.txt", code=7)
    assert (answer["code"], answer["commit"], answer["branch"]) == ("stale", commit, "topic")
    assert [one["code"] for one in answer["warnings"]] == ["stale_base"]
    assert beta.coord_json("status")["claims"] == []
    assert type_in(beta, hints(done)[0]).code == 0
    assert beta.coord("claim", "--require-fresh", "a.txt").code == 0


def test_other_paths_tasks_and_what_was_not_touched_warn_of_nothing(pair: tuple[Repo, Repo]) -> None:
    alpha, beta = pair
    alpha.coord_json("claim", "untouched.txt", "task:T")
    _lands(alpha, **{"src/a.txt": "1\n"})
    assert beta.coord_json("claim", "--require-fresh", "untouched.txt", "task:T", "src/b.txt", "lib")["warnings"] == []
    assert [one["paths"] for one in beta.coord_json("claim", "src")["warnings"]] == [["src/a.txt"]]
    assert [one["paths"] for one in beta.coord_json("claim", "--glob", "**/a.*")["warnings"]] == [["src/a.txt"]]


def test_who_has_the_content_by_a_squash_is_fresh_also_after_more_work(trio: tuple[Repo, Repo, Repo]) -> None:
    hub, alpha, beta = trio
    _lands(alpha, **{"a.txt": "1\n", "README.md": "new\n"})
    _squash(hub, "topic")
    beta.git("pull", "-q")
    assert beta.coord_json("claim", "--require-fresh", "a.txt", "README.md")["warnings"] == []
    beta.commit("more", **{"a.txt": "2\n"})
    assert beta.coord_json("claim", "--require-fresh", "a.txt")["warnings"] == []


def test_a_file_that_was_deleted_elsewhere_is_missed_too(pair: tuple[Repo, Repo]) -> None:
    alpha, beta = pair
    alpha.coord_json("claim", "README.md")
    alpha.git("checkout", "-q", "-b", "topic")
    alpha.git("rm", "-q", "README.md")
    alpha.git("commit", "-q", "-m", "gone")
    alpha.git("push", "-q", "origin", "topic")
    alpha.coord_json("release", "README.md")
    assert [one["paths"] for one in beta.coord_json("claim", "README.md")["warnings"]] == [["README.md"]]


def test_what_is_not_committed_or_not_to_be_told_is_not_landed(pair: tuple[Repo, Repo]) -> None:
    alpha, beta = pair
    alpha.coord_json("claim", "a.txt", "b.txt")
    alpha.commit("work", **{"a.txt": "1\n", "b.txt": "1\n"})
    alpha.write("a.txt", "2\n")
    assert "uncommitted changes in a.txt" in alpha.coord("release", "a.txt", "b.txt").err
    assert [one["paths"] for one in beta.coord_json("claim", "a.txt", "b.txt")["warnings"]] == [["b.txt"]]
    beta.coord_json("release", "--all")
    alpha.coord_json("claim", "c.txt")
    alpha.commit("more", **{"c.txt": "1\n"})
    alpha.coord_json("release", "c.txt", "--no-landed")
    assert beta.coord_json("claim", "c.txt")["warnings"] == []
    assert alpha.coord_json("release", "--all", "--no-landed", "--landed", "HEAD", code=2)["code"] == "usage"


def test_the_commit_that_has_the_work_can_be_named(trio: tuple[Repo, Repo, Repo]) -> None:
    hub, alpha, beta = trio
    alpha.coord_json("claim", "a.txt")
    alpha.git("checkout", "-q", "-b", "topic")
    alpha.commit("work", **{"a.txt": "1\n"})
    alpha.git("push", "-q", "origin", "topic")
    squashed = _squash(hub, "topic")
    alpha.git("fetch", "-q")
    assert alpha.coord_json("release", "a.txt", "--landed", "nothing", code=2)["message"] == "nothing is no commit here"
    alpha.coord_json("release", "a.txt", "--landed", "origin/main")
    warning = beta.coord_json("claim", "a.txt")["warnings"][0]
    assert (warning["commit"], warning["branch"]) == (squashed, None)
    assert warning["next"] == f"git fetch origin && git merge {squashed[:10]}"
    assert type_in(beta, warning["next"]).code == 0
    assert beta.coord_json("claim", "a.txt")["warnings"] == []


def test_the_newest_landing_of_a_path_counts(pair: tuple[Repo, Repo]) -> None:
    alpha, beta = pair
    _lands(alpha, **{"a.txt": "1\n"})
    newest = _lands(alpha, **{"a.txt": "2\n"})
    assert [one["commit"] for one in beta.coord_json("claim", "a.txt")["warnings"]] == [newest]


def test_the_cache_is_made_again_from_the_ledger_and_garbage_in_it_hurts_nobody(pair: tuple[Repo, Repo]) -> None:
    alpha, beta = pair
    commit = _lands(alpha, **{"a.txt": "1\n"})
    path = beta.path / ".git/coord/landed"
    beta.coord_json("claim", "z.txt")
    kept = path.read_bytes()
    assert kept.startswith(b"git-coord-landed 1\n")
    assert commit.encode() in kept
    path.write_bytes(kept + b'{"x": 1}\n[1,2]\n["alpha","--upload-pack=x","zz",[]]\n\xff\n')
    assert [one["commit"] for one in beta.coord_json("claim", "a.txt")["warnings"]] == [commit]
    path.unlink()
    assert [one["commit"] for one in beta.coord_json("claim", "a.txt")["warnings"]] == [commit]
    assert path.read_bytes() == kept


def test_while_nothing_has_landed_the_cache_is_one_line(pair: tuple[Repo, Repo]) -> None:
    alpha, beta = pair
    alpha.coord_json("claim", "a.txt")
    alpha.coord_json("release", "a.txt")
    beta.coord_json("claim", "a.txt")
    assert (beta.path / ".git/coord/landed").read_bytes() == b"git-coord-landed 1\n"


def test_what_waits_for_a_branch_blocks_until_it_is_merged_and_anybodys_sync_settles_it(
    trio: tuple[Repo, Repo, Repo],
) -> None:
    hub, alpha, beta = trio
    alpha.coord_json("claim", "a.txt")
    alpha.git("checkout", "-q", "-b", "topic")
    commit = alpha.commit("work", **{"a.txt": "1\n"})
    alpha.git("push", "-q", "origin", "topic")
    assert alpha.coord("release", "--all", "--when-merged", "main").out == "landed #1   a.txt   waits for main\n"
    answer = beta.coord_json("status")["claims"][0]
    assert answer["landed"] == {"commit": commit, "branch": "topic", "waits_for": "main"}
    assert "#1  alpha  edit  landed, waits for main   a.txt\n" in beta.coord("status").out
    assert beta.coord("claim", "a.txt").code == 3
    assert f"waiting  #1 alpha   {commit[:10]} is not in main, as last fetched here (git fetch)\n" in (
        beta.coord("sync").out
    )
    hub.git("update-ref", "refs/heads/main", commit)
    beta.git("pull", "-q")
    assert "settled  #1 alpha   a.txt   main has it\n" in beta.coord("sync").out
    assert beta.coord_json("claim", "--require-fresh", "a.txt")["warnings"] == []
    event = next(one for one in beta.coord_json("log")["events"] if one["kind"] == "settle")
    assert event["text"] == "beta settles #1"


@pytest.mark.parametrize("later", [False, True], ids=["at once", "changed again since"])
def test_a_squash_merge_settles_too(trio: tuple[Repo, Repo, Repo], later: bool) -> None:
    hub, alpha, beta = trio
    _lands(alpha, release=("--all", "--when-merged", "main"), **{"a.txt": "1\n", "README.md": "x\n"})
    assert beta.coord_json("sync")["settled"] == []
    _squash(hub, "topic")
    beta.git("pull", "-q")
    if later:
        beta.commit("again", **{"README.md": "y\n"})
        beta.git("push", "-q", "--no-verify")
    settled = plain_json(beta.coord_json("sync"))["settled"]
    assert settled == [
        {
            "token": 1,
            "agent": "alpha",
            "paths": ["a.txt", "README.md"],
            "commit": "<commit>",
            "branch": "topic",
            "waits_for": "main",
        }
    ]


def test_half_of_the_work_is_not_the_work(trio: tuple[Repo, Repo, Repo]) -> None:
    hub, alpha, beta = trio
    _lands(alpha, release=("--all", "--when-merged", "main"), **{"a.txt": "1\n", "b.txt": "1\n"})
    beta.commit("the same, but half", **{"a.txt": "1\n"})
    beta.git("push", "-q", "--no-verify")
    assert beta.coord_json("sync")["settled"] == []
    assert hub.git("show", "main:a.txt") == "1"


def test_work_that_goes_back_to_an_old_version_does_not_settle_by_that_old_version(
    trio: tuple[Repo, Repo, Repo],
) -> None:
    hub, alpha, beta = trio
    for text in ("old\n", "new\n"):
        alpha.commit(text, **{"a.txt": text})
    alpha.git("push", "-q")
    beta.git("pull", "-q")
    _lands(alpha, release=("--all", "--when-merged", "main"), **{"a.txt": "old\n"})
    assert beta.coord_json("sync")["settled"] == []
    _squash(hub, "topic")
    beta.git("pull", "-q")
    assert len(beta.coord_json("sync")["settled"]) == 1


def test_a_branch_that_never_comes_is_released_for_good_or_claimed_again(pair: tuple[Repo, Repo]) -> None:
    alpha, beta = pair
    _lands(alpha, release=("--all", "--when-merged", "release/9"), **{"a.txt": "1\n"})
    for repo in (alpha, beta):
        assert repo.coord_json("sync")["settled"] == []
    assert "alpha holds nothing but what waits for a branch" in alpha.coord_json("release", "--all", code=4)["message"]
    assert alpha.coord_json("claim", "a.txt")["token"] == 2
    assert "landed" not in alpha.coord_json("status")["claims"][0]
    assert alpha.coord("release", "--all", "--when-merged", "release/9").code == 0
    assert alpha.coord("release", "#2", "--reason", "ejected").out == "released #2   a.txt\n"
    assert beta.coord("claim", "a.txt").code == 0


def test_what_cannot_wait_for_a_branch_is_said(pair: tuple[Repo, Repo]) -> None:
    alpha, _ = pair
    alpha.coord_json("claim", "a.txt", "b.txt")
    answer = alpha.coord_json("release", "a.txt", "--when-merged", "main", code=2)
    assert answer["message"] == "#1 can only wait for main as a whole"
    assert answer["next"] == "git coord release '#1' --when-merged main"
    assert alpha.coord_json("release", "--all", "--when-merged", "a..b", code=2)["code"] == "usage"
    alpha.write("a.txt", "1\n")
    answer = alpha.coord_json("release", "--all", "--when-merged", "main", code=1)
    assert answer["message"] == "1 files are not committed, and main can never have them so"


def test_without_a_remote_the_branch_is_one_of_this_clone(alone: Repo) -> None:
    beta = alone.worktree("beta")
    assert beta.coord("init", "--agent", "beta").code == 0
    beta.coord_json("claim", "a.txt")
    commit = beta.commit("work", **{"a.txt": "1\n"})
    beta.coord_json("release", "--all", "--when-merged", "main")
    assert alone.coord_json("sync")["settled"] == []
    alone.git("merge", "-q", "--ff-only", commit)
    assert [one["token"] for one in alone.coord_json("sync")["settled"]] == [1]


def test_two_who_settle_at_once_settle_once(trio: tuple[Repo, Repo, Repo]) -> None:
    hub, alpha, beta = trio
    commit = _lands(alpha, release=("--all", "--when-merged", "main"), **{"a.txt": "1\n"})
    hub.git("update-ref", "refs/heads/main", commit)
    for repo in (alpha, beta):
        repo.git("fetch", "-q")
        forget_sync(repo)
    answers = [repo.coord_json("sync")["settled"] for repo in (alpha, beta)]
    assert [len(answer) for answer in answers] == [1, 0]
    lines = [event["text"] for event in alpha.coord_json("log")["events"] if event["kind"] == "settle"]
    assert lines == ["alpha settles #1"]


def test_odd_names_of_files_and_branches_come_through(pair: tuple[Repo, Repo]) -> None:
    alpha, beta = pair
    name = 'we"ird\n\\\udce9 [x].txt'
    alpha.coord_json("claim", name)
    alpha.git("checkout", "-q", "-b", "top'ic;x")
    alpha.write(name, "1\n")
    alpha.git("add", "-A")
    alpha.git("commit", "-q", "-m", "odd")
    alpha.git("push", "-q", "origin", "top'ic;x")
    alpha.coord_json("release", "--all", "--when-merged", "main")
    alpha.coord_json("release", "#1")
    warning = beta.coord_json("claim", name)["warnings"][0]
    assert set(warning["paths"][0]) == {"b64"}
    assert warning["branch"] == "top'ic;x"
    assert warning["next"].startswith("git fetch origin 'top'\"'\"'ic;x' && git merge ")
    assert type_in(beta, warning["next"]).code == 0
    assert beta.coord_json("claim", "--require-fresh", name)["warnings"] == []


LINES = "".join(f"{n}\n" for n in range(1, 12))


def _moved(trio: tuple[Repo, Repo, Repo], *release: str) -> tuple[Repo, Repo, Repo]:
    """Let alpha change the first line of a file on `topic`, and beta the last one on main."""
    hub, alpha, beta = trio
    beta.commit("lines", **{"a.txt": LINES})
    beta.git("push", "-q")
    alpha.git("pull", "-q")
    _lands(alpha, release=release or ("--all",), **{"a.txt": LINES.replace("1\n", "alpha's\n", 1)})
    beta.write("a.txt", LINES.replace("11\n", "beta's\n"))
    beta.git("commit", "-q", "-n", "-a", "-m", "main moves")
    beta.git("push", "-q", "--no-verify")
    return hub, alpha, beta


def test_a_squash_onto_a_file_that_moved_settles_too(trio: tuple[Repo, Repo, Repo]) -> None:
    hub, alpha, beta = _moved(trio, "--all", "--when-merged", "main")
    alpha.git("fetch", "-q")
    assert alpha.coord_json("sync")["settled"] == []
    _squash(hub, "topic")
    beta.git("pull", "-q")
    beta.write("a.txt", (beta.path / "a.txt").read_text().replace("alpha's", "somebody's"))
    beta.git("commit", "-q", "-n", "-a", "-m", "changed again since")
    beta.git("push", "-q", "--no-verify")
    alpha.git("fetch", "-q")
    assert [one["token"] for one in alpha.coord_json("sync")["settled"]] == [1]


def test_who_has_its_own_work_by_a_squash_onto_a_file_that_moved_is_fresh(trio: tuple[Repo, Repo, Repo]) -> None:
    hub, alpha, _ = _moved(trio)
    alpha.git("checkout", "-q", "main")
    alpha.git("pull", "-q")
    assert alpha.coord_json("claim", "--require-fresh", "a.txt", code=7)["code"] == "stale"
    _squash(hub, "topic")
    alpha.git("pull", "-q")
    assert alpha.coord_json("claim", "--require-fresh", "a.txt")["warnings"] == []


@pytest.mark.parametrize("options", [(), ("--wait", "10m")])
def test_a_claim_settles_what_is_in_its_way_and_has_landed(
    trio: tuple[Repo, Repo, Repo], options: tuple[str, ...]
) -> None:
    hub, alpha, beta = trio
    commit = _lands(alpha, release=("--all", "--when-merged", "main"), **{"a.txt": "1\n"})
    refused = beta.coord("claim", "a.txt")
    step = "git fetch origin && git coord claim a.txt"
    assert f"next   {step}   (done with, once main has it)" in refused.out.splitlines()
    hub.git("update-ref", "refs/heads/main", commit)
    beta.git("pull", "-q")
    done = beta.coord("claim", *options, "a.txt")
    assert (done.code, done.out.splitlines()[0].split()[:2]) == (0, ["#2", "yours"])
    assert done.err == "git coord: settled  #1 alpha   a.txt   main has it\n"


def test_the_step_of_a_refusal_by_what_waits_is_enough(trio: tuple[Repo, Repo, Repo]) -> None:
    hub, alpha, beta = trio
    commit = _lands(alpha, release=("--all", "--when-merged", "main"), **{"a.txt": "1\n"})
    hub.git("update-ref", "refs/heads/main", commit)
    step = beta.coord_json("claim", "a.txt", code=3)["next"]
    assert type_in(beta, step).code == 0
    assert [claim["agent"] for claim in beta.coord_json("status")["claims"]] == ["beta"]


def test_release_all_says_what_it_leaves_alone(pair: tuple[Repo, Repo]) -> None:
    alpha, _ = pair
    _lands(alpha, release=("--all", "--when-merged", "main"), **{"a.txt": "1\n"})
    alpha.coord_json("claim", "b.txt")
    said_of_it = (
        "git coord: #1 stays: a.txt waits until main has the work (git coord release '#1' frees it all the same)\n"
    )
    assert alpha.coord("release", "--all").err == said_of_it
    answer = alpha.coord_json("release", "--all", code=4)
    assert answer["message"] == (
        "alpha holds nothing but what waits for a branch (#1 for main), which --all leaves alone; "
        "git coord release '#1' frees it before the work is there"
    )
    assert type_in(alpha, answer["next"]).code == 0
