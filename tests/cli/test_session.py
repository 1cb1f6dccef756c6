"""`git coord rejoin` and `rotate`: which session and which key an agent works with."""

from __future__ import annotations

import os
import re
import shutil
import signal
from pathlib import Path

from tests.cli.past import claim_long_ago
from tests.cli.words import plain, plain_json, said
from tests.helpers import Repo


def test_another_session_is_refused_until_it_rejoins_and_then_the_first_is(alone: Repo) -> None:
    alone.coord_json("claim", "a", "b")
    other = alone.worktree("other", agent="alpha")
    answer = other.coord_json("claim", "c", code=4)
    assert answer["code"] == "lost"
    where = f"alpha is at work in another worktree, {alone.path}, seen <age> ago"
    assert plain(answer["message"]) == f"{where}: a worktree needs a name of its own"
    assert answer["next"] == "git coord init --agent alpha-2"
    refused = said(other.coord("rejoin"))
    assert refused == (
        4,
        "",
        f"git coord: {where}; rejoin would take its place (--force)\nnext   git coord init --agent alpha-2\n",
    )
    assert said(other.coord("rejoin", "--force")) == (0, "alpha is here now\n  intact   #1  until <time>   a  b\n", "")
    assert other.coord_json("claim", "c")["token"] == 2
    assert alone.coord_json("release", "a", code=4)["code"] == "lost"
    assert [claim["token"] for claim in alone.coord_json("rejoin", "--force")["claims"]] == [1, 2]
    alone.coord_json("release", "--all")
    assert said(alone.coord("rejoin")) == (0, "alpha is here now\n  holds nothing\n", "")


def test_coming_back_tells_what_is_intact_at_risk_and_lost_and_asserts_it_anew(pair: tuple[Repo, Repo]) -> None:
    alpha, beta = pair
    alpha.commit("files", same="1\n", other="1\n")
    claim_long_ago(alpha, "old", ago=400, ttl=300)
    alpha.coord_json("claim", "same", "other")
    alpha.coord_json("claim", "mine-no-more")
    alpha.coord_json("post", "half done")
    alpha.write("other", "2\n")
    key = alpha.coord("whoami").out.splitlines()[2].split()[-1]
    beta.git("config", "coord.policyKey", key)
    beta.coord_json("break", "#3", "-m", "not needed")
    beta.coord_json("post", "--to", "alpha", "when do you come back?")
    beta.coord_json("sync")
    back = alpha.with_env(GIT_COORD_SESSION="tomorrow")
    done = back.coord("rejoin")
    assert (done.code, plain(done.out).splitlines()) == (
        0,
        [
            "alpha is here now",
            "  intact   #1  until <time>   old",
            "  at risk  #2  until <time>   same  other",
            "           changed since it was pinned: other",
            '  lost     #3  mine-no-more   broken by beta <age> ago, "not needed"',
            "  post     <id>  alpha  open <age>   half done",
            "  post     <id>  beta to alpha  open <age>   when do you come back?",
        ],
    )
    answer = back.coord_json("rejoin")
    assert [(claim["token"], claim["state"], claim["risks"]) for claim in answer["claims"]] == [
        (1, "intact", []),
        (2, "intact", []),
    ]
    assert answer["claims"][1]["items"][1]["blob"] == back.git("hash-object", "other").strip()
    assert (answer["session"], answer["confirmed"], len(answer["posts"])) == ("tomorrow", True, 2)
    assert alpha.coord("renew", "--all").code == 4


def test_the_session_of_the_environment_counts(alone: Repo) -> None:
    named = alone.with_env(GIT_COORD_SESSION="work-7")
    assert named.coord_json("claim", "a", code=4)["agent"] == "alpha"
    assert named.coord_json("rejoin")["session"] == "work-7"
    assert "(not the current one)\n" in alone.coord("whoami").out
    assert alone.coord("whoami").out.endswith("next       git coord rejoin\n")
    assert named.coord_json("claim", "a")["token"] == 1
    bad = alone.with_env(GIT_COORD_SESSION="a b").coord_json("claim", "a", code=2)
    assert bad["message"] == "GIT_COORD_SESSION is not a plain word of at most 128 characters"


def test_an_empty_variable_counts_as_unset(alone: Repo) -> None:
    empty = alone.with_env(GIT_COORD_AGENT="", GIT_COORD_SESSION="")
    assert empty.coord_json("claim", "a")["agent"] == "alpha"


def test_rotation_replaces_the_key_and_keeps_the_claims(pair: tuple[Repo, Repo]) -> None:
    alpha, beta = pair
    alpha.coord_json("claim", "a")
    before = alpha.coord_json("whoami")["key"]
    done = alpha.coord("rotate")
    assert said(done) == (0, "alpha signs with <key> now\n  was      <key>\n", "")
    after = alpha.coord_json("whoami")
    assert before in done.out
    assert after["key"] != before
    assert after["member"] is True
    assert alpha.coord_json("release", "a")["claims"][0]["token"] == 1
    assert beta.coord_json("claim", "a")["token"] == 2
    assert plain_json(alpha.coord_json("rotate")) == {"ok": True, "agent": "alpha", "key": "<key>", "old_key": "<key>"}


def test_a_key_of_ones_own_is_not_replaced(alone: Repo) -> None:
    alone.git("config", "coord.key", alone.coord("whoami").out.splitlines()[2].split()[-1])
    answer = alone.coord_json("rotate", code=1)
    assert (answer["message"], answer["next"]) == ("coord.key names a key of your own", "git config --unset coord.key")


def test_a_rotated_key_takes_the_place_of_the_old_one_in_the_policy(alone: Repo) -> None:
    before = alone.coord_json("policy")["admins"]
    alone.coord_json("rotate")
    after = alone.coord_json("policy")["admins"]
    assert (len(before), len(after), before == after) == (1, 1, False)
    assert f"policy key {alone.coord_json('whoami')['key']}\n" in alone.coord("policy").out
    token = alone.coord_json("claim", "a")["token"]
    assert alone.coord("break", f"#{token}", "-m", "mine to break").code == 0


def test_a_key_of_ones_own_may_be_in_an_agent_alone_and_is_named_by_its_public_file(
    alone: Repo, short_folder: Path
) -> None:
    path = alone.coord("whoami").out.splitlines()[2].split()[-1]
    key, agent = short_folder / "key", short_folder / "agent"
    shutil.copy(path, key)
    shutil.copy(f"{path}.pub", f"{key}.pub")
    alone.git("config", "coord.key", f"{key}.pub")
    with_agent = alone.with_env(SSH_AUTH_SOCK=str(agent))
    started = with_agent.run("ssh-agent", "-s", "-a", str(agent), check=True).out
    try:
        with_agent.run("ssh-add", "-q", str(key), check=True)
        key.unlink()
        assert with_agent.coord_json("claim", "a")["agent"] == "alpha"
    finally:
        os.kill(int(re.findall(r"SSH_AGENT_PID=(\d+)", started)[0]), signal.SIGTERM)
