"""Attacks through presence, posts and notes: believed only from their author, and harmless whatever they hold."""

from __future__ import annotations

import json
from typing import Any

import pytest

from git_coord.crypto.keys import Signer
from git_coord.crypto.record import seal
from git_coord.domain.announcements import Post, Posts, Presence, Receipt, ReceiptEntry, Taken
from git_coord.domain.ids import Agent, Oid
from git_coord.domain.merkle import TREE_MODE
from git_coord.domain.statements import to_bytes
from tests.cli.words import forget_sync
from tests.hostile.attacker import Attacker
from tests.hostile.conftest import Arena

NOTES = "refs/notes/coord"


def common(by: Attacker, **fields: Any) -> dict[str, Any]:
    op = by.cancel()
    known = {n: getattr(op, n) for n in ("repo", "agent", "session", "at", "nonce", "head")}
    return {**known, "seq": 10**6, **fields}


def presence(by: Attacker, **fields: Any) -> Presence:
    stamp = by.coord.clock.now()
    words = dict.fromkeys(("branch", "host", "place", "task", "will")) | {"note": "here", "queue": 0, "state": "online"}
    return Presence(**{**common(by), "since": stamp, "ttl": 900, **words, **fields})


def posts(by: Attacker, *texts: str, **fields: Any) -> Posts:
    made = tuple(Post(f"{n:08}", by.coord.clock.now(), "open", text, None, None) for n, text in enumerate(texts))
    return Posts(**common(by, **fields), posts=made)


def push(by: Attacker, family: str, agent: str, statement: Any, signer: Signer | None = None) -> None:
    record = seal(to_bytes(statement), signer or by.key)
    by.push(f"refs/coord/{family}/{agent}", by.files({family: record}))


def roster(arena: Arena) -> dict[str, dict[str, Any]]:
    arena.alpha.coord_json("sync")
    return {row["agent"]: row for row in arena.alpha.coord_json("presence")["agents"]}


def board(arena: Arena) -> list[tuple[str, str]]:
    arena.alpha.coord_json("sync")
    return [(post["agent"], post["text"]) for post in arena.alpha.coord_json("posts")["posts"]]


def test_presence_in_anothers_name_is_not_believed(arena: Arena) -> None:
    by = arena.mallory
    push(by, "presence", "beta", presence(by, agent="beta", state="offline"))
    assert (roster(arena)["beta"]["state"] or "unknown") != "offline"
    push(by, "presence", "beta", presence(by, state="offline"))
    assert (roster(arena)["beta"]["state"] or "unknown") != "offline"
    assert arena.beta.coord_json("claim", "b.txt")["confirmed"] is True


def test_presence_of_who_has_not_joined_or_of_a_stolen_name_is_not_shown(arena: Arena) -> None:
    by = arena.mallory
    key = by.new_key("stranger")
    push(by, "presence", "ghost", presence(by, agent="ghost"), key)
    push(by, "presence", "mallory", presence(by), key)
    seen = roster(arena)
    assert sorted(seen) == ["alpha", "beta", "mallory"]
    assert seen["mallory"].get("note") != "here"


def test_a_heartbeat_from_the_future_is_shown_as_such(arena: Arena) -> None:
    by = arena.mallory
    push(by, "presence", "mallory", presence(by, at=by.coord.clock.now() + 10**8, ttl=366 * 86400))
    arena.alpha.coord_json("sync")
    shown = arena.alpha.coord("presence")
    assert (shown.code, "future" in shown.out) == (0, True)
    assert arena.alpha.coord_json("claim", "b.txt")["confirmed"] is True


def test_posts_in_anothers_name_or_beyond_the_limit_are_not_shown(arena: Arena) -> None:
    by = arena.mallory
    push(by, "posts", "beta", posts(by, "I give up", agent="beta"))
    push(by, "posts", "mallory", posts(by, *["flood"] * 65))
    assert board(arena) == []
    push(by, "posts", "mallory", posts(by, *["x" * 500] * 64))
    assert len(board(arena)) == 64
    assert arena.alpha.coord_json("claim", "b.txt")["confirmed"] is True


@pytest.mark.parametrize("text", ["\x1b]0;pwned\x07", "a\nb", "\u202eevil", "\u200b", "\x9b2J", "\x7f"], ids=ascii)
def test_posts_and_heartbeats_with_control_characters_are_not_believed(arena: Arena, text: str) -> None:
    by = arena.mallory
    push(by, "posts", "mallory", posts(by, text))
    push(by, "presence", "mallory", presence(by, note=text, branch=text, task=text))
    assert board(arena) == []
    assert roster(arena)["mallory"].get("note") != text


@pytest.mark.parametrize("family", ["presence", "posts"])
@pytest.mark.parametrize("what", ["blob", "tree", "user commit", "folder", "huge", "refs below", "wrong kind"])
def test_announcement_refs_at_something_else_are_passed_over(arena: Arena, family: str, what: str) -> None:
    by, ref = arena.mallory, f"refs/coord/{family}/beta"
    if what == "refs below":
        by.clone.run("git", "push", "-q", "origin", f":{ref}")
        by.push(f"{ref}/x", by.files({family: b"x"}))
    elif what == "wrong kind":
        push(by, family, "mallory", posts(by, "x") if family == "presence" else presence(by))
    else:
        folder = by.put("tree", b"40000 %s\0" % family.encode() + bytes.fromhex(by.clone.rev("main^{tree}")))
        found = {"blob": lambda: by.put("blob", b"x"), "tree": lambda: folder, "folder": lambda: by.commit(folder)}
        found["huge"] = lambda: by.files({family: b"{" * 3_000_000})
        by.push(ref, found.get(what, lambda: by.clone.rev("main"))())
    assert (board(arena), sorted(roster(arena))) == ([], ["alpha", "beta", "mallory"])
    assert arena.beta.coord_json("post", "add", "hello")["ok"] is True
    if what == "refs below":  # the hub cannot take the real one beside it
        assert arena.beta.coord_json("sync", code=5)["reason"] == "failed to update ref"
        assert arena.beta.coord_json("claim", "b.txt")["confirmed"] is True
        by.delete(f"{ref}/x")
    assert arena.beta.coord_json("sync")["ok"] is True


def receipt(by: Attacker, commit: str, **fields: Any) -> bytes:
    entry = ReceiptEntry(Oid(commit), by.head.oid, bypass=False, paths=())
    return seal(to_bytes(Receipt(**common(by, **fields), commits=(entry,))), by.key)


def violations(arena: Arena) -> list[tuple[str, str]]:
    """Return what CI says of the commit that the attacker pushed to main."""
    ci = arena.fresh("ci")
    answer = ci.coord("verify", "HEAD^..HEAD", "--json")
    assert answer.code in (3, 0), answer
    return [(row["path"], row["holder"]) for row in json.loads(answer.out)["violations"]]


@pytest.mark.parametrize("agent", ["alpha", "mallory", "ghost"])
def test_a_receipt_by_others_excuses_nothing(arena: Arena, agent: str) -> None:
    """A commit that touches what alpha holds, with a receipt in alpha's name, in one's own, or in nobody's."""
    by = arena.mallory
    commit = by.clone.with_env(GIT_COORD_MODE="off").commit("theft", **{"a.txt": "mine\n"})
    by.push("refs/heads/main", commit)
    by.push(f"{NOTES}/{agent}", by.files({commit: receipt(by, commit, agent=agent)}))
    assert violations(arena) == [("a.txt", "alpha")]


def bomb(by: Attacker) -> Oid:
    """Return a tree of forty small trees, each twice in the next: 2^40 files when listed."""
    tree = by.put("tree", b"100644 f\0" + bytes.fromhex(by.put("blob", b"x")))
    for _ in range(40):
        rows = [f"{TREE_MODE} {name}\0".encode() + bytes.fromhex(tree) for name in ("aa", "bb")]
        tree = by.put("tree", b"".join(rows))
    return tree


def odd_files(by: Attacker) -> Oid:
    blob = bytes.fromhex(by.put("blob", b"x"))
    names = ("\u00e9", "..", ".git", "\x1b[2J", "aa", "dir")
    rows = [f"{TREE_MODE if n == 'dir' else '100644'} {n}\0".encode() + blob for n in sorted(names) if n != "dir"]
    return by.put("tree", b"".join(rows))


@pytest.mark.timeout(60)
@pytest.mark.parametrize("tree", [bomb, odd_files])
@pytest.mark.parametrize("keeps", [True, False], ids=["on top", "unrelated"])
def test_a_hostile_notes_tree_stops_neither_its_owner_nor_ci(arena: Arena, tree: Any, keeps: bool) -> None:
    by = arena.mallory
    first = arena.alpha.commit("work", **{"a.txt": "1\n"})
    arena.alpha.git("push", "-q", "origin", "main")
    base = by.clone.run("git", "fetch", "-q", "origin", f"{NOTES}/alpha:refs/theirs", check=True)
    parents = [Oid(by.clone.rev("refs/theirs"))] if keeps and base.code == 0 else []
    message = "receipts up to 9999999999999999"
    by.push(f"{NOTES}/alpha", by.commit(tree(by), *parents, message=message))
    second = arena.alpha.commit("more", **{"a.txt": "2\n"})
    arena.alpha.git("push", "-q", "origin", "main")
    ci = arena.fresh("ci")
    answer = ci.coord_json("verify", f"{first}^..{second}")
    assert (answer["commits"], answer["violations"]) == (2, [])
    noted = arena.hub.git("ls-tree", "-r", "--name-only", f"{NOTES}/alpha").replace("/", "")
    assert (first in noted, second in noted) == (True, True)


def test_notes_that_a_stranger_replaced_are_put_back_by_their_author(arena: Arena) -> None:
    by = arena.mallory
    first = arena.alpha.commit("work", **{"a.txt": "1\n"})
    arena.alpha.git("push", "-q", "origin", "main")
    by.clone.git("fetch", "-q", "origin", f"{NOTES}/alpha:refs/theirs")
    note = bytes.fromhex(by.put("blob", b"nothing to see"))
    tree = by.put("tree", f"100644 {first}\0".encode() + note)
    by.push(f"{NOTES}/alpha", by.commit(tree, Oid(by.clone.rev("refs/theirs"))))
    arena.alpha.commit("more", **{"a.txt": "2\n"})
    arena.alpha.git("push", "-q", "origin", "main")
    assert '"agent":"alpha"' in arena.hub.git("show", f"{NOTES}/alpha:{first}")
    assert arena.fresh("ci").coord_json("verify", f"{first}^..HEAD")["violations"] == []


def test_garbage_as_the_note_of_a_commit_does_not_keep_its_author_from_a_receipt(arena: Arena) -> None:
    by = arena.mallory
    arena.alpha.git("commit", "-q", "--allow-empty", "-m", "x")
    commit = arena.alpha.commit("work", **{"a.txt": "1\n"})
    fake = receipt(by, commit, agent="alpha") + b"{" + b"-----END SSH SIGNATURE-----\n"
    by.push(f"{NOTES}/alpha", by.files({commit: fake}))
    arena.alpha.git("push", "-q", "origin", "main")
    note = arena.hub.git("show", f"{NOTES}/alpha:{commit}")
    assert note.count('"commit":"' + commit) == 2
    assert Agent("alpha") in by.head.state.agents
    assert arena.fresh("ci").coord_json("verify", "HEAD^..HEAD")["violations"] == []


def test_what_others_wrote_is_data_to_a_watching_command(arena: Arena) -> None:
    by, alpha = arena.mallory, arena.alpha
    text = "$(touch stolen) `touch stolen` '; touch stolen; #"
    push(by, "posts", "mallory", posts(by, text))
    line = ("watch", "--once", "--cursor-file", ".git/cursor", "--exec", "cat >> .git/got")
    alpha.coord_json("sync")
    assert alpha.coord(*line).code == 0
    push(by, "posts", "mallory", posts(by, text, f"{text} 2", seq=10**6 + 1))
    forget_sync(alpha)
    done = alpha.coord(*line)
    assert (done.code, done.err) == (0, "")
    event = json.loads((alpha.path / ".git/got").read_text())
    assert (event["kind"], event["text"]) == ("post.changed", f"{text} 2")
    assert not (alpha.path / "stolen").exists()


def test_who_takes_a_post_does_not_end_it(arena: Arena) -> None:
    by, beta = arena.mallory, arena.beta
    name = beta.coord_json("post", "who?")["id"]
    beta.coord_json("sync")
    entry = Post("00000001", 0, "done", "nothing left to do", None, None, Taken(Agent("beta"), name))
    made = Posts(**common(by), posts=(entry,))
    push(by, "posts", "mallory", made)
    arena.alpha.coord_json("sync")
    (post,) = arena.alpha.coord_json("posts")["posts"]
    assert (post["id"], post["status"], post["taken_by"], post["taker_says"]) == (name, "taken", "mallory", "done")
