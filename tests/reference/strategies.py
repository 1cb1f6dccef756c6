"""Valid statements as hypothesis strategies, and values that are nearly right somewhere."""

from __future__ import annotations

import base64
from typing import Any

from hypothesis import strategies as st

from git_coord.domain.timestamps import MAX_STAMP, format_stamp

# Field by field; small alphabets, so that repetitions and near misses happen.

hashes = st.sampled_from(["a" * 40, "b" * 40, "0123456789abcdef" * 4])
nonces = st.sampled_from([c * 32 for c in "0123"])
lines = st.one_of(st.just(""), st.text("aé \U0001f600'\"\\~", max_size=20), st.just("é" * 500))
times = st.integers(0, MAX_STAMP).map(format_stamp)
agents = st.sampled_from(["a", "alpha", "b.c-d_e", "0" * 63])
seconds = st.integers(1, 366 * 86400)
leases = st.sampled_from(["quick", "standard", "long"])


def key_text(algorithm: str, size: int) -> str:
    """Return a key of some bytes."""
    blob = len(algorithm).to_bytes(4, "big") + algorithm.encode() + b"\0" * size
    return f"{algorithm} {base64.b64encode(blob).decode()}"


keys = st.builds(key_text, st.sampled_from(["ssh-ed25519", "sk-ssh-ed25519@openssh.com", "x"]), st.integers(0, 4))
odd_names = st.sampled_from([b"\xff", b"a/\xe9.py", b"\xed\xa0\x80"]).map(
    lambda name: {"b64": base64.b64encode(name).decode()}
)
paths = st.one_of(st.sampled_from([".", "a", "a/b", "é/[x]", "-a", "*", "a b/..c", "a\n"]), odd_names)
globs = st.one_of(st.sampled_from(["**", "a/**/b?", "*" + "/*" * 7, "[a]"]), odd_names)
branches = st.sampled_from(["main", "é/b.c", "x" * 250, "a@b"])
tasks = st.sampled_from(["E-1", "a/b/c", "/".join("abcdefgh"), "x" * 64])


def members(**fixed: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Return a strategy of objects."""
    return st.fixed_dictionaries(fixed)


def lists(entries: st.SearchStrategy[Any], low: int = 0, key: Any = str) -> st.SearchStrategy[Any]:
    """Return a strategy of short lists without repetition."""
    return st.lists(entries, min_size=low, max_size=3, unique_by=key)


admitted = st.none() | agents | st.sampled_from(["team-*", "*,!mallory", "?"])
intents = st.sampled_from(["read", "edit"])
items = st.one_of(
    members(path=paths.filter(lambda name: name != "."), intent=intents, blob=hashes),
    members(path=paths.filter(lambda name: name != "."), intent=intents, file=st.just(True)),
    members(path=paths, intent=intents),
    members(glob=globs, intent=intents),
    members(task=tasks, intent=intents),
    members(branch=branches, intent=intents),
)
stamps = lists(members(name=st.text("ab", min_size=1, max_size=64), value=lines), key=lambda stamp: stamp["name"])
bases = members(default=st.none() | hashes, head=st.none() | hashes, upstream=st.none() | hashes)
claimed = lists(items, 1, lambda item: str([item.get(kind) for kind in ("path", "glob", "task", "branch")]))
there = st.none() | members(blob=hashes, mode=st.sampled_from(["100644", "100755", "120000", "160000"]))
touched = st.lists(members(after=there, before=there, path=paths), max_size=3)
reached = st.lists(members(blob=st.none() | hashes, path=paths), max_size=3)
landed = members(branch=st.none() | lines, commit=hashes, paths=reached, until=st.none() | lines)
evidence = members(
    beat=st.none() | times,
    claim=nonces,
    lease_end=times,
    tip=st.none() | hashes,
    unchanged=st.integers(0, 2**53 - 1),
    witness=st.none() | agents,
)
common: dict[str, st.SearchStrategy[Any]] = {
    "v": st.just(3),
    "repo": st.just("01234567-89ab-4def-8123-456789abcdef"),
    "agent": agents,
    "session": st.sampled_from(["s", "A0._:@-", "0" * 128]),
    "seq": st.integers(1, 2**53 - 1),
    "at": times,
    "nonce": nonces,
    "head": st.none() | hashes,
}
bodies: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "policy": {
        "admins": lists(keys, 1),
        "fold": st.sampled_from(["none", "case+nfc"]),
        "join": st.sampled_from(["open", "listed"]),
        "listed": st.lists(members(agent=admitted, key=keys), max_size=3),
        "max_lease": seconds,
        "restore_hold": st.integers(0, 366 * 86400),
        "skew": st.integers(0, 3600),
        "takeover": st.sampled_from(["gated", "never"]),
        "void": lists(hashes),
    },
    "join": {"key": keys},
    "rejoin": {},
    "claim": {
        "base": bases,
        "items": claimed,
        "lease": leases,
        "not_after": st.none() | times,
        "purpose": lines,
        "stamps": st.none() | stamps,
        "ttl": seconds,
        "wait_until": st.none() | times,
    },
    "renew": {
        "claims": lists(
            members(claim=nonces, pins=st.lists(st.none() | hashes, min_size=1, max_size=3), stamps=stamps),
            1,
            lambda renewal: renewal["claim"],
        ),
        "lease": leases,
        "ttl": seconds,
    },
    "release": {
        "landed": st.none() | landed,
        "reason": lines,
        "targets": lists(
            members(claim=nonces, items=st.none() | lists(st.integers(0, 4999), 1)), 1, lambda target: target["claim"]
        ),
        "to": st.none() | agents,
    },
    "takeover": {
        "base": bases,
        "claims": lists(evidence, 1, lambda seen: seen["claim"]),
        "items": claimed,
        "lease": leases,
        "purpose": lines,
        "reason": lines,
        "stamps": st.none() | stamps,
        "ttl": seconds,
    },
    "block": {"reason": lines, "tasks": lists(tasks, 1)},
    "unblock": {"blocks": lists(nonces, 1), "reason": lines},
    "expel": {"agents": lists(agents, 1), "reason": lines},
    "move": {"prefix": lines, "reason": lines, "url": st.none() | lines},
    "checkpoint": {"number": st.integers(1, 2**53 - 1), "old": hashes, "root": hashes, "tree": hashes},
    "settle": {"claims": lists(nonces, 1), "commit": hashes},
    "restore": {"found": st.none() | hashes},
    "replay": {
        "lost": lists(
            members(
                commit=hashes, ops=lists(members(agent=agents, nonce=nonces), key=lambda op: (op["agent"], op["nonce"]))
            ),
            1,
            lambda lost: lost["commit"],
        ),
        "token": st.integers(0, 2**53 - 1),
    },
    "break": {"claims": lists(nonces, 1), "reason": lines},
    "cancel": {"op": nonces},
    "rotate": {"key": keys, "proof": st.binary(max_size=9).map(lambda data: base64.b64encode(data).decode())},
    "presence": {
        "branch": st.none() | lines,
        "host": st.none() | lines,
        "note": st.none() | lines,
        "place": st.none() | lines,
        "queue": st.integers(0, 2**53 - 1),
        "since": times,
        "state": st.sampled_from(["online", "busy", "draining", "dormant", "offline"]),
        "task": st.none() | lines,
        "ttl": seconds,
        "will": st.none() | lines,
    },
    "posts": {
        "posts": lists(
            members(
                at=times,
                claim=st.none() | nonces,
                id=st.text("aZ9", min_size=8, max_size=8),
                status=st.sampled_from(["open", "taken", "done", "dropped"]),
                takes=st.none() | members(agent=agents, id=st.text("aZ9", min_size=8, max_size=8)),
                text=lines,
                to=st.none() | agents,
            ),
            key=lambda post: post["id"],
        )
    },
    "receipt": {
        "commits": lists(
            members(
                bypass=st.booleans(),
                commit=hashes,
                head=hashes,
                paths=touched,
            ),
            1,
            lambda entry: entry["commit"],
        )
    },
}


def statements(kind: str) -> st.SearchStrategy[dict[str, Any]]:
    """Return a strategy of valid statements of a kind."""
    return members(kind=st.just(kind), **common, **bodies[kind])


ODD: list[Any] = [
    *[None, True, False, 0, 1, 2, -1, 63, 3600, 3601, 4999, 5000, 366 * 86400, 366 * 86400 + 1, 2**53 - 1],
    *["", "a", ".", "..", "a/", "/a", "./a", "a//b", "a/../b", "a/./b", "a**", "**a", "***", "*" + "/*" * 8, "a\0b"],
    *["a" * 64, "a" * 65, "a" * 500, "a" * 501, "a" * 4096, "a" * 4097, "é" * 2048, "é" * 2049, "a" * 63, "a..b"],
    *[
        "a.lock",
        "a.",
        "A",
        "\u202e",
        "\u200b",
        "\x7f",
        "\x85",
        "\u00ad",
        "\ufffe",
        "\U0010ffff",
        "\U000e0041",
        "\u2027",
    ],
    *["a" * 39, "a" * 40, "A" * 40, "a" * 41, "a" * 64, "g" * 40, "a" * 32, "a" * 31, "a" * 40 + "\n", "\u0661" * 8],
    *["2024-02-29T00:00:00Z", "2023-02-29T00:00:00Z", "2024-01-01T24:00:00Z", "2024-01-01T00:00:60Z"],
    *["1969-12-31T23:59:59Z", "9999-12-31T23:59:59Z", "0000-01-01T00:00:00Z", "2024-1-01T00:00:00Z"],
    *["2024-01-01T00:00:00z", "2024-01-01T00:00:00.0Z", "2024-01-01 00:00:00Z", "\u0662024-01-01T00:00:00Z"],
    *["x AAAAAXg=", "x AAAAAXg", "x AAAAAXh=", "x  AAAAAXg=", " AAAAAA==", "X AAAAAVg=", "x AAAAAXg= c", "y AAAAAXg="],
    *["quick", "gated", "open", "none", "read", "online", "AAAA", "AAA=", "AAB=", "AA==", "A-_A", "=", "AAAA\n"],
    *["E-1/2", "E/" * 8 + "E", "-E", "a" * 128, "a" * 129, "01234567-89ab-4def-8123-456789abcde"],
    *[[], {}, [None], ["a"], [0], {"b64": "/w=="}, {"b64": "YQ=="}, {"b64": ""}, {"b64": "/wA="}, {"b64": "/x=="}],
    *[{"b64": 1}, {"b64": "/w==", "x": 1}, {"b64": "YS8u//8="}, {"path": "a", "intent": "edit"}, {"glob": "a"}],
]
