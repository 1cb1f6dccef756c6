"""What a watch reports: each change once, with an id that stays, from any cursor on; presence only when it lasted."""

from __future__ import annotations

import pytest
from tests.service.scene import Desk, Scene, selected, wanted

from git_coord.domain.ids import Agent
from git_coord.errors import CoordError, Kind
from git_coord.service import claims, posts, presence
from git_coord.service.cursor import Cursor, decode, encode
from git_coord.service.events import Event
from git_coord.service.follow import Follower
from git_coord.service.ledger import open_ledger
from git_coord.service.presence import Wish
from git_coord.service.remote_ledger import ROSTER_FAMILIES
from git_coord.service.sync import sync
from git_coord.store.refcache import RefCache


class Watcher:
    """One watch of a desk's clone, which fetches before it looks."""

    def __init__(self, desk: Desk, cursor: Cursor | None = None) -> None:
        self.coord = desk.coord()
        self.follower = Follower(self.coord, cursor)

    def look(self) -> list[Event]:
        """Fetch, and return what is new."""
        store = self.coord.store
        assert isinstance(store, RefCache)
        store.forget()
        open_ledger(self.coord)
        if self.coord.remote is not None:
            sync(self.coord, ROSTER_FAMILIES)
        return list(self.follower.look())

    def texts(self) -> list[tuple[str, str]]:
        """Return kind and words of what is new."""
        return [(event.kind, event.text) for event in self.look()]


def test_claims_are_reported_as_the_ledger_has_them(local: Scene) -> None:
    alpha, beta = local.joined("alpha", "beta")
    watcher = Watcher(beta)
    assert watcher.texts() == []
    alpha.granted("src/a.py", "b", purpose="why")
    alpha.release("b")
    assert isinstance(claims.claim(alpha.coord(), wanted("src/a.py")), claims.ClaimGranted)
    alpha.release("src/a.py")
    assert watcher.texts() == [
        ("claim.granted", "#1 alpha claims src/a.py (edit) +1"),
        ("claim.released", "alpha releases #1 b"),
        ("claim.granted", "#2 alpha claims src/a.py (edit)"),
        ("claim.released", "alpha releases #2"),
    ]
    assert watcher.texts() == []


def test_an_event_says_who_what_and_where_in_the_ledger(local: Scene) -> None:
    alpha, beta = local.joined("alpha", "beta")
    watcher = Watcher(beta)
    alpha.granted("a", "b\udcff", purpose="why", intent="read")
    alpha.release("a")
    granted, released = watcher.look()
    items = [{"path": "a", "intent": "read"}, {"path": {"b64": "Yv8="}, "intent": "read"}]
    assert dict(granted.data) == {"position": 4, "token": 1, "purpose": "why", "items": items, "by": "alpha"}
    assert (granted.agent, granted.at, granted.id) == ("alpha", local.clock.now(), "00000000-4-0")
    gone = {"position": 5, "token": 1, "purpose": "why", "items": items[:1], "by": "alpha", "reason": ""}
    assert dict(released.data) == gone


def test_a_break_is_told_as_one(local: Scene) -> None:
    alpha, beta = local.joined("alpha", "beta")
    alpha.granted("a")
    watcher = Watcher(beta)
    coord = alpha.coord()
    coord.policy_signer = lambda: alpha.signer
    claims.break_claims(coord, selected(coord, "a"), "gone home")
    (event,) = watcher.look()
    assert (event.kind, event.agent, event.data["reason"]) == ("claim.broken", "alpha", "gone home")


def test_a_refusal_names_the_holders(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    watcher = Watcher(alpha)
    late = beta.coord()
    alpha.granted("a")
    beta.claim("a", coord=late)
    events = [event for event in watcher.look() if event.kind == "claim.refused"]
    assert [(event.agent, event.data["holders"]) for event in events] == [("beta", ["alpha"])]


def test_a_watch_goes_on_from_its_cursor_with_the_same_ids(local: Scene) -> None:
    alpha, beta = local.joined("alpha", "beta")
    first = Watcher(beta)
    words = [encode(first.follower.cursor)]
    events: list[Event] = []
    for name in ("a", "b", "c"):
        alpha.granted(name)
        posts.add_post(alpha.coord(), name, None, None)
        presence.set_presence(alpha.coord(), Wish("busy" if name == "b" else "online", ttl=5))
        local.clock.sleep(5)
        first.coord.store.forget()  # type: ignore[attr-defined]
        open_ledger(first.coord)
        for event in first.follower.look():
            events.append(event)
            words.append(encode(first.follower.cursor))
    kinds = [event.kind for event in events]
    assert (kinds.count("claim.granted"), kinds.count("post.changed")) == (3, 3)
    assert "presence.changed" in kinds
    for n, word in enumerate(words):
        again = [event.id for event in Watcher(beta, decode(word)).look()]
        ledger_and_posts = [event.id for event in events[n:] if event.kind != "presence.changed"]
        assert [name for name in again if "presence" not in name] == [
            *sorted((name for name in ledger_and_posts if "post" not in name), key=ledger_and_posts.index),
            *(name for name in ledger_and_posts if "post" in name),
        ]


@pytest.mark.parametrize("since", [0, 1, 3, 4])
def test_a_bare_position_is_a_cursor(local: Scene, since: int) -> None:
    alpha, beta = local.joined("alpha", "beta")
    posts.add_post(alpha.coord(), "old", None, None)
    alpha.granted("a")
    alpha.granted("b")
    found = [event.data["position"] for event in Watcher(beta, decode(str(since))).look()]
    assert found == [position for position in (4, 5) if position > since]


@pytest.mark.parametrize("word", ["", "x", "1.", "1.!!", "1.AAAA", "-1", "1" * 20, "1." + "A" * 50, "\u0661"])
def test_what_is_no_cursor_is_wrong_usage(word: str) -> None:
    with pytest.raises(CoordError) as caught:
        decode(word)
    assert caught.value.kind is Kind.USAGE


def test_a_cursor_that_would_fill_the_memory_is_refused() -> None:
    bomb = encode(Cursor(1, False, rejected="x" * (1 << 21)))
    assert len(bomb) < 10_000
    with pytest.raises(CoordError):
        decode(bomb)


def test_a_claim_becomes_stale_once_and_again_after_a_renewal(local: Scene) -> None:
    alpha, beta = local.joined("alpha", "beta")
    alpha.granted("a", ttl=100)
    watcher = Watcher(beta)
    local.clock.sleep(161)
    (event,) = watcher.look()
    assert (event.kind, event.text) == ("claim.stale", "#1 alpha is stale: a (edit)")
    assert watcher.look() == []
    coord = alpha.coord()
    claims.renew(coord, chosen := selected(coord, "a"), None, {chosen.claims[0][0].op: (None,)}, ())
    assert watcher.look() == []
    local.clock.sleep(161)
    (again,) = watcher.look()
    assert (again.kind, again.id != event.id) == ("claim.stale", True)


def state_events(watcher: Watcher) -> list[str]:
    return [event.text for event in watcher.look() if event.kind == "presence.changed"]


def test_presence_is_reported_when_it_lasted_a_whole_ttl(local: Scene) -> None:
    alpha, beta = local.joined("alpha", "beta")
    presence.set_presence(alpha.coord(), Wish("online", ttl=100))
    watcher = Watcher(beta)
    presence.set_presence(alpha.coord(), Wish("busy", ttl=100))
    assert state_events(watcher) == []
    local.clock.sleep(99)
    assert state_events(watcher) == []
    local.clock.sleep(1)
    assert state_events(watcher) == ["alpha is busy, was online"]
    assert state_events(watcher) == []
    local.clock.sleep(50)
    assert state_events(watcher) == [], "silent, but not for long enough"
    local.clock.sleep(50)
    assert state_events(watcher) == ["alpha is unknown, was busy"]


def test_who_comes_and_goes_within_a_ttl_is_not_reported(local: Scene) -> None:
    alpha, beta = local.joined("alpha", "beta")
    presence.set_presence(alpha.coord(), Wish("online", ttl=100))
    watcher = Watcher(beta)
    for _ in range(5):
        for state in ("busy", "dormant", "online"):
            presence.set_presence(alpha.coord(), Wish(state))
            local.clock.sleep(40)
            assert state_events(watcher) == []


def test_a_transition_is_reported_by_whoever_resumes_after_it(local: Scene) -> None:
    alpha, beta = local.joined("alpha", "beta")
    presence.set_presence(alpha.coord(), Wish("online", ttl=100))
    word = encode(Watcher(beta).follower.cursor)
    presence.set_presence(alpha.coord(), Wish("offline"))
    local.clock.sleep(100)
    assert state_events(Watcher(beta, decode(word))) == ["alpha is offline, was online"]


def test_posts_are_reported_when_they_come_change_are_taken_and_go(local: Scene) -> None:
    alpha, beta = local.joined("alpha", "beta")
    watcher = Watcher(beta)
    name = posts.add_post(alpha.coord(), "who?", Agent("beta"), None).post.id
    assert watcher.texts() == [("post.changed", f'post {name} of alpha to beta is open: "who?"')]
    posts.take_post(beta.coord(), name, "")
    assert watcher.texts() == [("post.changed", f'post {name} of alpha to beta is taken by beta: "who?"')]
    posts.remove_post(beta.coord(), name)
    back = watcher.look()
    assert [event.text for event in back] == [f'post {name} of alpha to beta is open: "who?"']
    assert back[0].id == f"00000000-post-alpha-{name}-2", "the same words a second time are another event"
    posts.remove_post(alpha.coord(), name)
    assert watcher.texts() == [("post.changed", f"alpha removed post {name}")]


def test_a_rejected_ledger_is_reported_once_a_commit(local: Scene) -> None:
    _, beta = local.joined("alpha", "beta")
    watcher = Watcher(beta)
    bad = CoordError(Kind.UNTRUSTED, "refused to adopt the ledger", data={"commit": "1" * 40})
    (event,) = watcher.follower.rejected(bad)
    assert (event.kind, event.id) == ("ledger.rejected", f"00000000-rejected-{'1' * 40}")
    assert list(watcher.follower.rejected(bad)) == []


def test_a_ledger_that_was_replaced_is_said_and_followed_from_its_end(local: Scene) -> None:
    alpha, beta = local.joined("alpha", "beta")
    alpha.granted("a")
    watcher = Watcher(beta)
    stranger = Scene(local.folder / "other", with_hub=False)
    (local.folder / "other").mkdir()
    (other,) = stranger.joined("alpha")
    other.granted("x")
    watcher.coord.head = other.head()
    watcher.coord.store.below = other.store  # type: ignore[attr-defined]
    watcher.coord.store.forget()  # type: ignore[attr-defined]
    assert list(watcher.follower._ledger()) == []
    assert beta.forward() == ["the ledger was replaced by another chain; going on at its end"]
