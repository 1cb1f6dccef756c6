"""pre-push: judge every commit that the remote does not have yet, as CI will, and see that CI gets the receipts."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from git_coord.domain.durations import show_age
from git_coord.domain.ids import Oid
from git_coord.domain.text import escape_for_display
from git_coord.errors import CoordError, Kind
from git_coord.service.sessions import nobody

from . import branches, breaches

if TYPE_CHECKING:
    from git_coord.app import App
    from git_coord.domain.commits import UserCommit
    from git_coord.domain.evidence import Violation
    from git_coord.domain.team import Team

BYPASS = "bypass  GIT_COORD_BYPASS=1 git push …      (CI will see it all the same)"
MOST_ROWS = 20


@dataclass(frozen=True, slots=True)
class PushedRef:
    """A line that git gives the hook; an id of zeros, of any length, is nothing."""

    local_ref: str
    local: Oid | None
    remote_ref: str
    remote: Oid | None


def judge_push(name: str, args: Sequence[str], warns: bool) -> int:  # noqa: ARG001 (what every hook is called with)
    """Answer for the hook runner, which knows mode and bypass: `args` are the remote's name and its URL."""
    from git_coord.app import open_app

    lines = _read_lines()
    app = open_app(os.getcwd(), os.environ, notice=lambda text: _say([f"git coord: {text}"]))
    remote, url = (*args, "", "")[:2]
    return pre_push(app, remote, url, lines, warns=warns)


def _read_lines() -> list[str]:
    """Return what git says of each ref; names are bytes, and may have what Python takes for the end of a line."""
    return os.fsdecode(sys.stdin.buffer.read()).split("\n")


def note_bypass(args: Sequence[str]) -> None:
    """Record that a push goes past claims on branches; nothing is refused."""
    from git_coord.app import open_app

    lines = _read_lines()
    app = open_app(os.getcwd(), os.environ)
    remote, url = (*args, "", "")[:2]
    if names := _branches(app, _remote_of(app, remote, url), url, _pushed(app, lines)):
        branches.note_bypass(app, names)


def pre_push(app: App, remote_name: str, url: str, stdin_lines: Iterable[str], *, warns: bool = False) -> int:
    """Judge a push; returns the exit status. Reads all lines before anything else, so that git never waits.

    Raises CoordError: UNKNOWN without any picture of the ledger, UNTRUSTED for a ledger that does not verify.
    """
    pushed = _pushed(app, list(stdin_lines))
    remote = _remote_of(app, remote_name, url)
    commits, names = _new_commits(app, remote, pushed), _branches(app, remote, url, pushed)
    if not commits and not names:
        return 0
    from .stops import stopped_push

    age, is_told = _look(app)
    if lapsed := _unvouched(app, commits, is_told=is_told, warns=warns):
        _say(lapsed)
        if not warns:
            return Kind.LOST.exit_status
    if gone := stopped_push(app, commits, warns=warns):
        _say([*gone, *([] if warns else [BYPASS])])
        if not warns:
            return Kind.LOST.exit_status
    refusals = [_refused_branches(app, names, age, warns=warns)]
    found = _judged(app, commits, asks=is_told) if commits else []
    refusals += [_refusal(app, commits, found, age, warns=warns) if found else []]
    if any(refusals):
        _say([line for lines in refusals for line in lines])
        return Kind.CONFLICT.exit_status
    if app.coord.identity is not None and (here := nobody(app.coord)) is not None:
        _say([f"git coord: {here.notice}"])
    if commits:
        _send_receipts(app, commits, is_told=is_told)
    return 0


def _pushed(app: App, lines: Sequence[str]) -> list[PushedRef]:
    return [ref for line in lines if (ref := _parsed(line)) is not None and not _is_own(app, ref)]


def _parsed(line: str) -> PushedRef | None:
    """Return what a line of git says, None for what is no such line; the first name is as typed and may have blanks."""
    words = line.rstrip("\n").rsplit(" ", 3)
    if len(words) != 4:
        return None
    here, there = (Oid(word) if word.strip("0") else None for word in (words[1], words[3]))
    return PushedRef(words[0], here, words[2], there)


def _branches(app: App, remote: str | None, url: str, pushed: Sequence[PushedRef]) -> list[str]:
    """Return the branches that move, appear or vanish where the claims are; those of another remote are not these."""
    if remote is not None and app.remote_name not in (None, remote):
        ours = app.config.under("remote")
        keys = (f"remote.{app.remote_name}.url", f"remote.{app.remote_name}.pushurl")
        if not any(url in ours.get(key, ()) for key in keys):
            return []
    from git_coord.service.commits import branch_of

    names = [branch_of(ref.remote_ref) for ref in pushed if ref.local != ref.remote]
    return list(dict.fromkeys(name for name in names if name is not None))


def _refused_branches(app: App, names: Sequence[str], age: int | None, *, warns: bool) -> list[str]:
    from git_coord.service.query import picture

    now, me = picture(app.coord), app.coord.actor
    found = branches.taken(now, me, names)
    if not found:
        return []
    here = nobody(app.coord)
    lines = branches.refusal(found, len(names), now.now, nobody=here, warns=warns)
    ways = [*([here.step] if here is not None else []), branches.way_out(found[0])]
    steps = [f"{'' if n else 'next':4}    {way}" for n, way in enumerate(ways)] + ([] if warns else [branches.BYPASS])
    return [*lines, *_as_of(app, age), *steps]


def _as_of(app: App, age: int | None) -> list[str]:
    return [f"as of {show_age(age)} ago"] if age is not None and app.coord.remote is not None else []


def _is_own(app: App, ref: PushedRef) -> bool:
    from git_coord.service.commits import is_ours

    return is_ours(ref.remote_ref, app.config.get("coord.refPrefix"))


def _remote_of(app: App, name: str, url: str) -> str | None:
    """Return the configured remote that is pushed to; of a push by URL the one that has this URL, if any."""
    urls = app.config.under("remote")
    if f"remote.{name}.url" in urls or f"remote.{name}.pushurl" in urls:
        return name
    keys = [key for key, values in urls.items() if key.endswith((".url", ".pushurl")) and url in values]
    return keys[0].removeprefix("remote.").rpartition(".")[0] if keys else None


def _new_commits(app: App, remote: str | None, pushed: Sequence[PushedRef]) -> list[UserCommit]:
    """Return what the remote does not have: a remote id that is unknown here says nothing; a blob has no commits."""
    history = app.history()
    tips = [oid for oid in history.resolve([ref.local for ref in pushed if ref.local]) if oid]
    there = [oid for oid in history.resolve([ref.remote for ref in pushed if ref.remote]) if oid]
    return history.commits(list(dict.fromkeys(tips)), there, remote) if tips else []


def _look(app: App) -> tuple[int | None, bool]:
    """Ask the remote once; return how old the picture is and whether the remote answered.

    No answer and no picture is never "free".
    """
    from git_coord.service.ledger import open_ledger
    from git_coord.service.remote_ledger import fetch_and_adopt
    from git_coord.service.sync import picture_age
    from git_coord.service.verify import FAMILIES

    open_ledger(app.coord)
    is_told = False
    if app.coord.remote is not None:
        try:
            fetch_and_adopt(app.coord, FAMILIES)
            is_told = True
        except CoordError as trouble:
            if trouble.kind is not Kind.UNKNOWN or app.coord.head is None:
                raise
            age = picture_age(app.coord)
            old = f"{show_age(age)} old" if age is not None else "of unknown age"
            _say([f"git coord: {trouble.message}; judged by a picture {old}"])
    if app.coord.head is None:
        raise CoordError(Kind.UNKNOWN, "there is no ledger in this clone any more", next="git coord init")
    return picture_age(app.coord), is_told


def _unvouched(app: App, commits: Sequence[UserCommit], *, is_told: bool, warns: bool) -> list[str]:
    """Return what to say of commits under own claims that may be somebody else's by now; nothing if the remote said."""
    if is_told or app.coord.remote is None or app.coord.identity is None:
        return []
    from git_coord.domain.team import entitled
    from git_coord.service.leases import own_leases, warnings

    state, now = app.coord.known.state, app.coord.clock.now()
    over = [item for own in own_leases(app.coord, state) if now > own.until for _, item in own.claim.live()]
    lost = entitled(over, state.fold)
    if not any(lost.covers(delta.path) for one in commits for delta in one.changes):
        return []
    said = [f"git coord: {text}" for text in warnings(app.coord, state)]
    word = "warning" if warns else "push refused"
    return [
        f"git coord: {word}, your claim counts as lost until a sync says otherwise",
        *said,
        *([] if warns else [BYPASS]),
    ]


def _judged(app: App, commits: Sequence[UserCommit], *, asks: bool) -> list[Violation]:
    """Judge with the receipts that the hooks noted; the agent vouches for unnoted commits under its own claims.

    `git am`, a merge or a clone without hooks leave no line, and what one holds one may commit anew at any time.
    """
    from git_coord.service.receipts import append, settle
    from git_coord.service.verify import judged

    settle(app.coord, app.history, asks=asks)
    team = _team(app)
    history, needed = app.history(), set[Oid]()
    found = judged(app.coord, history, commits, team, fetches=asks, needed=needed)
    if mine := _vouched(app, found):
        settle(app.coord, app.history, mine, asks=False)
        found = judged(app.coord, history, commits, team, fetches=asks, needed=needed)
    if needed and not found and app.coord.signer is not None:
        append(app.coord, (), needed)
    return found


def _team(app: App) -> Team:
    from git_coord.domain.team import NO_RULES
    from git_coord.service.team import load_team

    return load_team(app.location.top)[0] if app.location.top else NO_RULES


def _vouched(app: App, found: Sequence[Violation]) -> list[Oid]:
    """Return the commits without a receipt in which nothing but the acting agent's own claims is in the way."""
    from git_coord.domain.evidence import Breach

    me = app.coord.actor
    own = {
        one.commit
        for one in found
        if one.kind is Breach.NO_RECEIPT and one.claim is not None and one.claim.holder == me
    }
    return [oid for oid in dict.fromkeys(one.commit for one in found) if oid in own]


def _send_receipts(app: App, commits: Sequence[UserCommit], *, is_told: bool) -> None:
    """Push the agent's notes when a path is under a live claim: CI will want them. Trouble is said, never a refusal.

    A remote that has just given no answer is not asked again: one push of the user's waits for it once.
    """
    from git_coord.service.exchange.refusal import words_of
    from git_coord.service.receipts import push_receipts
    from git_coord.service.verify import touches_a_claim

    if app.coord.remote is None or app.coord.actor is None or not touches_a_claim(app.coord, commits):
        return
    try:
        refused = push_receipts(app.coord) if is_told else None
        trouble = words_of(refused) if refused else "" if is_told else "no answer"
    except CoordError as error:
        trouble = error.message
    if trouble:
        _say([f"git coord: receipts are not pushed: {trouble}", "next    git coord sync      (CI wants them)"])


def _refusal(
    app: App, commits: Sequence[UserCommit], found: Sequence[Violation], age: int | None, *, warns: bool
) -> list[str]:
    from git_coord.service.query import picture

    now, history = picture(app.coord), app.history()
    reader = breaches.Reader(app.coord.actor, history.resolve(["HEAD"])[0], None)
    about = history.described({one.commit for one in found[:MOST_ROWS]})
    lines = breaches.refusal(found, len(commits), now, about, warns=warns)
    here = nobody(app.coord)
    who = [here.line] if here is not None else []
    ways = [*([here.step] if here is not None else []), *breaches.steps(found[:MOST_ROWS], reader)]
    steps = [f"{'' if n else 'next':4}    {way}" for n, way in enumerate(ways)]
    return [*lines, *who, *_as_of(app, age), *steps, *([] if warns else [BYPASS])]


def _say(lines: Sequence[str]) -> None:
    sys.stderr.write("".join(f"{escape_for_display(line)}\n" for line in lines))
