"""`git coord expel` and `git coord revoke`: a member is put out by one operation, and comes back by a word."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.words import hints, said, type_in
from tests.helpers import Repo

Pair = tuple[Repo, Repo]


def test_a_member_is_put_out_with_all_it_held(pair: Pair) -> None:
    alpha, beta = pair
    beta.coord_json("claim", "a")
    done = alpha.coord("expel", "beta", "-m", "left the team")
    note = "note     whoever can push may still join under another name: git coord policy --listed FILE\n"
    assert said(done) == (0, f"expelled beta\nended #1 of beta   a\n{note}", "")
    assert alpha.coord_json("claim", "a")["token"] == 2
    assert [one["agent"] for one in alpha.coord_json("status")["agents"]] == ["alpha"]
    refused = beta.coord("claim", "b")
    assert refused.code == 4
    assert "beta was put out by alpha" in refused.err
    assert '"left the team"' in refused.err


def test_who_was_put_out_comes_back_with_a_new_key_when_a_maintainer_lists_it(pair: Pair) -> None:
    alpha, beta = pair
    old = beta.coord_json("whoami")["key"]
    alpha.coord_json("expel", "beta", "-m", "")
    refused = beta.coord("claim", "b")
    refused = type_in(beta, hints(refused)[0])
    assert refused.code == 4
    assert "it was put out" in refused.err
    line = type_in(beta, hints(refused)[0]).out.strip()
    assert old not in line
    assert alpha.coord("policy", "--allow", line).code == 0
    assert beta.coord("init", "--agent", "beta").code == 0
    assert beta.coord_json("claim", "b")["token"] == 1
    assert beta.coord_json("whoami")["member"] is True


def test_revoking_a_key_puts_out_who_rotated_it_away(pair: Pair) -> None:
    alpha, beta = pair
    stolen = beta.coord_json("whoami")["key"]
    beta.coord_json("rotate")
    answer = alpha.coord_json("revoke", stolen, "-m", "stolen")
    assert (answer["expelled"], answer["join"]) == (["beta"], "open")
    again = alpha.coord("revoke", stolen, "-m", "stolen")
    assert again.code == 2
    assert "beta, which had this key, was put out already" in again.err


def test_who_has_a_policy_key_loses_that_first(pair: Pair, tmp_path: Path) -> None:
    alpha, _ = pair
    alpha.run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / "person"), check=True)
    refused = alpha.coord("expel", "alpha", "-m", "mine was stolen")
    assert refused.code == 1
    assert "alpha's key is a policy key" in refused.err
    alpha.coord_json("policy", "--add-admin", str(tmp_path / "person.pub"))
    assert type_in(alpha, hints(refused)[0]).code == 0
    assert alpha.coord_json("expel", "alpha", "-m", "mine was stolen")["expelled"] == ["alpha"]
    assert "put out" in alpha.coord("claim", "a").err


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("expel", "nobody"), "nobody has not joined"),
        (("expel", "no/name"), "'no/name' is not the name of an agent"),
        (("revoke", "SHA256:x"), "no member has or had this key"),
    ],
)
def test_what_names_no_member_changes_nothing(pair: Pair, words: tuple[str, str], text: str) -> None:
    alpha, _ = pair
    before = alpha.rev("refs/coord/claims")
    done = alpha.coord(*words, "-m", "x")
    assert done.code == 2
    assert text in done.err
    assert alpha.rev("refs/coord/claims") == before


def test_without_a_policy_key_nobody_is_put_out(pair: Pair) -> None:
    _, beta = pair
    done = beta.coord("expel", "alpha", "-m", "me instead")
    assert done.code == 4
    assert "the key here is not one of the policy's" in done.err
