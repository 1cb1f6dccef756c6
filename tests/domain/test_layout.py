"""The files of a ledger's tree, to the byte, and what is no such tree."""

from __future__ import annotations

import pytest
from tests.domain.world import World, key_of, path, sealed

from git_coord.domain import canonical, layout
from git_coord.domain.loading import load_state
from git_coord.domain.statements import Renewal, Stamp
from git_coord.errors import CoordError, Kind


@pytest.fixture
def world() -> World:
    """Return a ledger with one claim that was renewed and cut."""
    world = World.of("alpha", fold="case+nfc")
    one = world.granted(world.claim("alpha", path("a"), path("b"), stamps=(Stamp("n", "é"),)))
    world.done(world.renew("alpha", Renewal(one.op, (None, None), ())))
    world.done(world.release("alpha", (one.op, (0,))))
    return world


def test_derived_files_are_one_line_of_canonical_json(world: World) -> None:
    files = world.files()
    assert files["format"] == (b'{"fold":"case+nfc","repo":"00000000-0000-4000-8000-000000000001","skew":60,"v":3}\n')
    key = key_of("alpha").encode()
    assert files["agents/alpha"] == (
        b'{"at":"2026-01-01T00:05:00Z","keys":[{"from":2,"key":"' + key + b'"}],"seq":5,"session":"alpha-1"}\n'
    )
    assert files["counters"] == b'{"at":"2026-01-01T00:05:00Z","ops":5,"queue":0,"token":1}\n'
    assert files["claims/0/1/grant"] == (
        b'{"at":"2026-01-01T00:03:00Z","holder":"alpha","op":"00000000000000000000000000000003",'
        b'"stamps":[{"name":"n","value":"\\u00e9"}],"token":1,"unattended":false}\n'
    )


def test_a_second_renew_replaces_the_first(world: World) -> None:
    (nonce,) = world.head.state.claims
    op = world.renew("alpha", Renewal(nonce, (None, None), ()))
    world.done(op)
    assert world.files()["claims/0/1/renew"] == sealed(op).record


def test_only_a_policy_that_takes_effect_replaces_the_file(world: World) -> None:
    before = world.files()["policy"]
    world.refused(world.policy("alpha", fold="none"))
    assert world.files()["policy"] == before
    world.done(op := world.policy("alpha", fold="case+nfc", takeover="never"))
    assert world.files()["policy"] == sealed(op).record


def test_a_hundred_claims_share_a_folder() -> None:
    assert [layout.claim_folder(token) for token in (1, 99, 100, 12345)] == [
        "claims/0/1",
        "claims/0/99",
        "claims/1/100",
        "claims/123/12345",
    ]
    assert layout.operation_path(7) == "op/0007"


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("policy", None),
        ("counters", None),
        ("counters", b"{}\n"),
        ("counters", b"[]\n"),
        ("counters", b""),
        ("agents/alpha", b'{"keys":1}\n'),
        ("claims/0/1/grant", None),
        ("claims/0/1/claim", None),
        ("claims/0/1/claim", "claims/0/1/renew"),
        ("claims/0/1/renew", "claims/0/1/claim"),
        ("claims/0/1/cut-000000000005", b"no record\n"),
        ("policy", "claims/0/1/claim"),
        ("claims/0/x/grant", b""),
        ("claims/0", b""),
    ],
)
def test_a_tree_that_does_not_hold_together_is_untrusted(world: World, name: str, data: bytes | str | None) -> None:
    files = world.files()
    content = files[data] if isinstance(data, str) else data
    broken = {path: found for path, found in files.items() if path != name}
    if content is not None:
        broken[name] = content
    with pytest.raises(CoordError) as caught:
        load_state(broken)
    assert caught.value.kind is Kind.UNTRUSTED


def test_a_renew_of_other_claims_in_the_folder_is_untrusted(world: World) -> None:
    two = world.granted(world.claim("alpha", path("c")))
    world.done(world.renew("alpha", Renewal(two.op, (None,), ())))
    files = world.files()
    with pytest.raises(CoordError, match="the ledger here cannot be read"):
        load_state(files | {"claims/0/1/renew": files["claims/0/2/renew"]})


def test_a_record_of_an_older_build_is_said_in_words(world: World) -> None:
    files = world.files()
    older = canonical.loads(files["agents/alpha"][:-1])
    del older["at"]
    with pytest.raises(CoordError) as caught:
        load_state(files | {"agents/alpha": canonical.dumps(older) + b"\n"})
    assert caught.value.message == (
        "the ledger here cannot be read (at is missing): it is damaged, or another version of git coord wrote it"
    )
