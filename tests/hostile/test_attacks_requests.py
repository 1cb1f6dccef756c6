"""Attacks through request refs: anybody can push them, and only what its author signed is ever placed."""

from __future__ import annotations

import pytest

from git_coord.app import open_app
from git_coord.domain.chain import Sealed
from git_coord.domain.ids import Agent, Nonce
from git_coord.domain.items import Intent, Item, ItemKind
from git_coord.domain.statements import Base, Break, Cancel, Claim, Join, Renew, Renewal, to_bytes
from git_coord.service.ledger import open_ledger
from git_coord.service.requests import publish, read_requests
from tests.helpers import Repo
from tests.hostile.attacker import CLAIMS, Attacker
from tests.hostile.conftest import Arena

REQUESTS = "refs/coord/requests"
NOBODY = Base(None, None, None)


def claim_of(by: Attacker, path: str, **fields: object) -> Claim:
    items = (Item(ItemKind.PATH, path, Intent.EDIT),)
    known = {
        "base": NOBODY,
        "items": items,
        "lease": "quick",
        "not_after": None,
        "purpose": "",
        "stamps": (),
        "ttl": 1800,
    }
    made: Claim = by.op(Claim, **{**known, **fields})
    return made


def assert_work_goes_on(arena: Arena, claimant: Repo, path: str, **held: str) -> None:
    """Assert that an honest agent claims, and that nothing else is held than what is named."""
    assert claimant.coord_json("claim", path)["confirmed"] is True
    assert arena.holders(claimant) == {"a.txt": "alpha", path: claimant.path.name} | held


def claim_unconfirmed(arena: Arena, path: str) -> None:
    """Let alpha claim while its remote cannot be reached."""
    arena.alpha.git("config", "remote.origin.url", str(arena.folder / "nowhere"))
    assert arena.alpha.coord_json("claim", path, "--offline")["confirmed"] is False
    arena.alpha.git("config", "remote.origin.url", str(arena.hub.path))


def requests(by: Attacker, kind: str) -> list[Sealed | bytes]:
    """Return what an attacker publishes in alpha's name."""
    free = by.release_of("alpha", agent="alpha")
    good = by.sealed(by.cancel())
    return {
        "forged": [by.sealed(free)],
        "unsigned": [to_bytes(free) + b"\n"],
        "signature of another statement": [to_bytes(free) + b"\n" + good.record.partition(b"\n")[2]],
        "another namespace": [by.sealed(free, namespace="file")],
        "another agent's operation": [good],
        "garbage": [b"\x1b[2J\xff\xfe" * 1000],
        "empty": [b""],
        "two megabytes": [b"{" * 2_000_000],
        "deep": [by.line(b"[" * 60_000 + b"]" * 60_000).record],
    }[kind]


KINDS = (
    "forged",
    "unsigned",
    "signature of another statement",
    "another namespace",
    "another agent's operation",
    "garbage",
    "empty",
    "two megabytes",
    "deep",
)


@pytest.mark.parametrize("kind", KINDS)
def test_what_alpha_did_not_sign_is_never_placed_in_alphas_name(arena: Arena, kind: str) -> None:
    by = arena.mallory
    first = by.head.state.agents[Agent("alpha")].seq + 1
    records = [made if isinstance(made, bytes) else made.record for made in requests(by, kind)]
    by.push(f"{REQUESTS}/alpha", by.files({f"{first + n:010}": record for n, record in enumerate(records)}))
    arena.beta.coord_json("sync")
    assert_work_goes_on(arena, arena.beta, "b.txt")
    assert_work_goes_on(arena, arena.alpha, "c.txt", **{"b.txt": "beta"})


NAMES = ("0", "9999999999", "00000000000000000001", "-000000001", "\u0661" * 10, "x" * 4000)


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_odd_file_names_in_a_request_ref_change_no_number(arena: Arena, name: str) -> None:
    by = arena.mallory
    tree = by.put("tree", f"100644 {name}\0".encode() + bytes.fromhex(by.put("blob", b"x")))
    by.push(f"{REQUESTS}/alpha", by.commit(tree))
    before = by.head.state.agents[Agent("alpha")].seq
    claim_unconfirmed(arena, "b.txt")
    assert arena.alpha.coord_json("sync")["ok"] is True
    app = open_app(str(arena.alpha.path), arena.alpha.env)
    head = open_ledger(app.coord)
    assert head is not None
    assert head.state.agents[Agent("alpha")].seq == before + 1
    assert arena.holders(arena.alpha) == {"a.txt": "alpha", "b.txt": "alpha"}


@pytest.mark.parametrize("what", ["release", "renew", "cancel", "break"])
def test_a_stranger_frees_or_keeps_nothing_of_alphas(arena: Arena, what: str) -> None:
    by = arena.mallory
    claim = next(iter(by.head.state.claims.values()))
    made = {
        "release": by.release_of("alpha"),
        "renew": by.op(Renew, claims=(Renewal(claim.op, (None,), ()),), lease="long", ttl=14400),
        "cancel": by.op(Cancel, op=claim.op),
        "break": by.op(Break, claims=(claim.op,), reason="mine"),
    }[what]
    by.push_requests("mallory", by.sealed(made))
    arena.beta.coord_json("sync")
    log = arena.beta.coord("log").out
    outcome = {"cancel": "mallory cancels", "break": ""}.get(what, f"mallory is refused {what}: not held")
    assert (outcome in log, "mallory breaks" in log) == (True, False)
    kept = open_app(str(arena.beta.path), arena.beta.env)
    head = open_ledger(kept.coord)
    assert head is not None
    assert head.state.claims[claim.op] == claim
    assert arena.alpha.coord_json("release", "a.txt")["ok"] is True


def test_a_claim_under_the_nonce_of_a_live_one_is_refused(arena: Arena) -> None:
    by = arena.mallory
    nonce = next(iter(by.head.state.claims))
    by.push_requests("mallory", by.sealed(claim_of(by, "b.txt", nonce=nonce)))
    arena.beta.coord_json("sync")
    assert "mallory is refused claim b.txt (edit): nonce in use" in arena.beta.coord("log").out
    assert_work_goes_on(arena, arena.beta, "b.txt")


def test_a_claim_under_the_nonce_of_a_pending_one_costs_its_author_one_refusal_and_no_lie(arena: Arena) -> None:
    by = arena.mallory
    claim_unconfirmed(arena, "b.txt")
    app = open_app(str(arena.alpha.path), arena.alpha.env)
    open_ledger(app.coord)
    pending = next(s for r in read_requests(app.coord, fetched=False) for s in r.operations.values() if s)
    by.push_requests("mallory", by.sealed(claim_of(by, "c.txt", nonce=pending.op.nonce)))
    arena.beta.coord_json("sync")
    done = arena.alpha.coord("sync")
    assert (done.code, arena.holders(arena.alpha)) == (4, {"a.txt": "alpha", "c.txt": "mallory"})
    assert arena.alpha.coord_json("claim", "b.txt")["confirmed"] is True


def test_published_work_that_an_attacker_removes_is_published_and_placed_again(arena: Arena) -> None:
    claim_unconfirmed(arena, "b.txt")
    arena.alpha.git("push", "-q", "--no-verify", "origin", f"+{REQUESTS}/alpha:{REQUESTS}/alpha")
    arena.mallory.delete(f"{REQUESTS}/alpha")
    assert arena.alpha.coord_json("sync")["ok"] is True
    assert arena.holders(arena.alpha) == {"a.txt": "alpha", "b.txt": "alpha"}


def test_a_request_placed_after_its_author_gave_up_is_undone_by_the_cancel_behind_it(arena: Arena) -> None:
    by, app = arena.mallory, open_app(str(arena.alpha.path), arena.alpha.env)
    open_ledger(app.coord)
    common = {"repo": by.head.state.repo, "agent": Agent("alpha"), "session": app.coord.me.session, "head": by.head.oid}
    asked = claim_of(by, "b.txt", **{**common, "nonce": Nonce("5" * 32)})
    fields = {name: getattr(asked, name) for name in (*Claim.FIELDS, *common, "at", "nonce")}
    claim = publish(app.coord, lambda seq: Claim(**fields, seq=seq), app.coord.own_signer).sealed
    give_up = {**common, "at": asked.at, "nonce": Nonce("6" * 32), "op": claim.op.nonce}
    publish(app.coord, lambda seq: Cancel(**give_up, seq=seq), app.coord.own_signer)
    arena.alpha.git("push", "-q", "--no-verify", "origin", f"+{REQUESTS}/alpha:{REQUESTS}/alpha")
    by.push_ledger(by.places(claim))
    arena.beta.coord_json("sync")
    assert_work_goes_on(arena, arena.beta, "b.txt")
    again = by.places(claim)
    by.write(again.objects)
    bad = by.commit(again.head.tree.oid or by.head.oid, by.clone.rev("HEAD"), message="x")  # placed once more
    by.push(CLAIMS, bad)
    assert arena.alpha.coord_json("sync", code=6)["code"] == "untrusted"


@pytest.mark.parametrize("what", ["blob", "tree", "tag", "commit of the user", "refs below"])
def test_a_request_ref_at_something_else_is_passed_over(arena: Arena, what: str) -> None:
    by, ref = arena.mallory, f"{REQUESTS}/beta"
    if what == "refs below":
        arena.mallory.delete(*arena.hub.refs(ref))
        by.push(f"{ref}/x", by.files({"0000000001": b"x"}))
    else:
        by.clone.git("tag", "-a", "-m", "x", "evil", by.head.oid)
        oids = {
            "blob": by.put("blob", b"x"),
            "tree": by.clone.rev("main^{tree}"),
            "tag": by.clone.rev("refs/tags/evil"),
        }
        by.push(ref, oids.get(what) or by.clone.rev("main"))
    assert_work_goes_on(arena, arena.beta, "b.txt")
    assert_work_goes_on(arena, arena.alpha, "c.txt", **{"b.txt": "beta"})


@pytest.mark.slow
def test_requests_of_strangers_never_fill_the_memory(arena: Arena) -> None:
    """Blobs that are a kilobyte in the pack and a megabyte when read, and signed ones of who has not joined."""
    by = arena.mallory
    for agent in ("beta", "junk"):
        files = {f"{n + 1000:010}": b"%d" % n + b"\0" * 1_000_000 for n in range(200)}
        by.push(f"{REQUESTS}/{agent}", by.files(files))
    limited = "ulimit -v 450000; exec git coord sync --json"
    assert arena.alpha.run("sh", "-c", limited).code == 0
    assert_work_goes_on(arena, arena.alpha, "b.txt")


def test_a_stranger_is_heard_only_after_a_join_that_may_be_placed(arena: Arena) -> None:
    by, key = arena.mallory, arena.mallory.new_key("new")
    name = Agent("newcomer")
    join = by.sealed(by.op(Join, agent=name, seq=1, session="s", key=key.key), key)
    ask = by.sealed(claim_of(by, "b.txt", agent=name, seq=2, session="s"), key)
    by.push_requests("newcomer", ask)
    arena.beta.coord_json("sync")
    assert arena.holders(arena.beta) == {"a.txt": "alpha"}
    by.push_requests("newcomer", join, ask)
    arena.beta.coord_json("sync")
    assert arena.holders(arena.beta) == {"a.txt": "alpha", "b.txt": "newcomer"}
