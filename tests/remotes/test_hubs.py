"""Hubs with rules of their own: two agents work there all the same, or are told what to change."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers import Repo
from tests.remotes.pair import Pair, clones
from tests.remotes.story import assert_healed, assert_one_line, one_of_two_wins, two_agents_work

REFUSAL = "echo 'frozen until Monday' >&2; exit 1"


@pytest.mark.slow
@pytest.mark.parametrize("transport", ["plain", "no atomic"])
def test_two_agents_work_where_nothing_may_be_rewound_or_deleted(
    transport: str, hub: Repo, tmp_path: Path, env: dict[str, str]
) -> None:
    for name in ("receive.denyNonFastForwards", "receive.denyDeletes", "receive.fsckObjects", "transfer.fsckObjects"):
        hub.git("config", name, "true")
    hub.git("config", "receive.advertiseAtomic", "false" if transport == "no atomic" else "true")
    pair = clones(tmp_path, env, str(hub.path), hub)
    two_agents_work(pair)
    one_of_two_wins(pair)


@pytest.mark.slow
@pytest.mark.parametrize("setting", ["receive.hideRefs", "transfer.hideRefs"])
def test_where_our_refs_are_hidden_that_is_said_and_branches_work(
    setting: str, hub: Repo, tmp_path: Path, env: dict[str, str]
) -> None:
    hub.git("config", setting, "refs/coord")
    hub.git("config", "--add", setting, "refs/notes")
    hub.git("config", "receive.denyNonFastForwards", "true")
    pair = clones(tmp_path, env, str(hub.path), hub)
    before = hub.refs(), pair.alpha.refs(), pair.alpha.git("config", "--list", "--local")
    done = pair.alpha.coord("init", "--agent", "alpha")
    assert assert_one_line(done).startswith("git coord: origin refuses our refs: deny updating a hidden ref")
    assert done.err.splitlines()[1].endswith("git config coord.refPrefix refs/heads/coord")
    assert (hub.refs(), pair.alpha.refs(), pair.alpha.git("config", "--list", "--local")) == before
    pair.configure("coord.refPrefix", "refs/heads/coord")
    two_agents_work(pair)
    one_of_two_wins(pair)
    assert {ref for ref in hub.refs() if not ref.startswith("refs/heads/")} == set()


def test_a_hub_whose_hook_refuses_is_asked_once_and_quoted(pair: Pair) -> None:
    log = pair.hub.path / "log"
    assert pair.alpha.coord("sync").code == 0  # a sign of life that is due would be a third ref
    refuses = pair.hook("pre-receive", f"cat >/dev/null; echo asked >>'{log}'\n{REFUSAL}")
    before = pair.hub.refs()
    said = assert_one_line(pair.alpha.coord("claim", "a.txt"))
    assert said == "git coord: origin refuses our refs: pre-receive hook declined: frozen until Monday"
    assert (log.read_text().splitlines(), pair.hub.refs()) == (["asked"], before)
    refuses.unlink()
    assert_healed(pair)


def test_what_a_host_says_is_escaped_and_cut(pair: Pair) -> None:
    pair.hook("pre-receive", "printf '\\n====\\nerror: \\033[31mGH013\\n%0600d\\nmore\\n' 7 >&2; exit 1")
    said = assert_one_line(pair.alpha.coord("claim", "a.txt"))
    assert said.startswith("git coord: origin refuses our refs: pre-receive hook declined: \\x1b[31mGH013; 0000")
    assert said.endswith("00…")
    assert len(said) < 400


@pytest.mark.parametrize("limit", [5, 2])
def test_five_agents_work_at_a_hub_that_takes_only_so_many_refs_at_once(pair: Pair, limit: int) -> None:
    crew = [pair.alpha]
    for name in ("w2", "w3", "w4", "w5"):
        crew.append(pair.alpha.worktree(name))
        assert crew[-1].coord("init", "--agent", name).code == 0
    pair.hook("pre-receive", f"[ $(tee -a log | wc -l) -le {limit} ] || {{ echo 'at most {limit} refs' >&2; exit 1; }}")
    pair.set_url("/nonexistent")
    for each in crew:
        each.coord("post", "hello")
        each.coord("claim", f"{each.path.name}.txt", "--offline")
    pair.set_url(str(pair.hub.path))
    assert crew[2].coord_json("sync")["lost"] == []
    assert crew[3].coord_json("claim", "c.txt")["confirmed"] is True
    assert crew[4].coord("sync").out.startswith("in step with origin")
    assert pair.beta.coord("sync").code == 0
    assert len(pair.beta.coord_json("posts")["posts"]) == len(crew)
    assert pair.beta.coord_json("claim", "w5.txt", code=3)["holder"] == "w5"


def test_a_hub_that_takes_the_ledger_and_not_the_request_has_granted(pair: Pair) -> None:
    pair.hook("update", "case $1 in refs/coord/requests/*) exit 1 ;; esac")
    assert pair.alpha.coord_json("claim", "a.txt")["confirmed"] is True
    assert pair.beta.coord_json("claim", "a.txt", code=3)["holder"] == "alpha"


def test_a_hub_that_takes_the_request_and_not_the_ledger_has_granted_nothing(pair: Pair) -> None:
    refuses = pair.hook("update", "case $1 in refs/coord/claims) exit 1 ;; esac")
    said = assert_one_line(pair.alpha.coord("claim", "a.txt"))
    assert said.startswith("git coord: origin refuses our refs: hook declined")
    refuses.unlink()
    assert_healed(pair)


def test_a_branch_where_the_prefix_goes_is_refused_in_a_line(hub: Repo, tmp_path: Path, env: dict[str, str]) -> None:
    pair = clones(tmp_path, env, str(hub.path), hub)
    hub.git("branch", "coord", "main")
    pair.configure("coord.refPrefix", "refs/heads/coord")
    before = hub.refs(), pair.alpha.refs()
    done = pair.alpha.coord("init", "--agent", "alpha")
    assert assert_one_line(done).startswith("git coord: origin refuses our refs: failed to update ref")
    assert done.err.splitlines()[1] == "next   git ls-remote origin"
    assert (hub.refs(), pair.alpha.refs()) == before
    hub.git("branch", "-m", "coord", "other")
    assert pair.alpha.coord_json("init", "--agent", "alpha")["joined"] is True
