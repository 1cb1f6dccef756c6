"""`git coord release`: by path, by `#token`, or all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import click

from git_coord.app import App
from git_coord.domain.items import Item, ItemKind
from git_coord.domain.ledger import Change, Served
from git_coord.domain.state import LiveClaim
from git_coord.domain.text import escape_for_display
from git_coord.errors import CoordError, Kind
from git_coord.service import claims, query, selection
from git_coord.service.landing import Landing, landed
from git_coord.service.ledger import open_ledger, view
from git_coord.service.remote_ledger import LEDGER_FAMILIES, fetch_and_adopt

from . import options, render, resources
from .output import Output

REASONS = "merged, ejected, abort, done"
"""What most releases are for: the work is in, it was thrown out, it was given up, it needed no change."""
KEPT = ("renewed", "landed")
"""What is said of claims that live on."""


@click.command("release", context_settings=options.HELP)
@click.argument("resource", nargs=-1)
@resources.glob
@click.option("--all", "is_all", is_flag=True, help="Everything this agent holds.")
@click.option("--to", metavar="AGENT", help="Hand over to this agent, with nobody in between.")
@click.option("-m", "--reason", "reason", default="", callback=options.clean_line, help=f"Why: {REASONS}, or a line.")
@click.option(
    "--when-merged", "until", metavar="BRANCH", help="Keep others off until BRANCH of the remote has the work."
)
@click.option("--landed", "landed_name", metavar="COMMIT", help="The commit that has the work; HEAD.")
@click.option("--no-landed", "is_untold", is_flag=True, help="Do not say which commit has the work.")
@resources.stdin
@resources.nul
@options.offline
@options.common
def command(
    resource: tuple[str, ...],
    globs: tuple[str, ...],
    is_all: bool,
    to: str | None,
    reason: str,
    until: str | None,
    landed_name: str | None,
    is_untold: bool,
    from_stdin: bool,
    is_nul: bool,
    offline: bool,
    as_json: bool,
    agent: str | None,
) -> int:
    """Give claims back: paths (and all you hold below them), #tokens, or --all.

    With --to they go to another agent, waiters or not: each claim in one operation, under a new token.

    A release names the commit that has the work, so that whoever claims the same later is told if they lack it. With
    --when-merged the claims stay, done with, until any agent's sync sees the work in that branch (merged, squashed or
    rebased); --all leaves those alone that wait already.
    """
    app, output = options.means(as_json, agent, offline=offline)
    if (is_untold and (until or landed_name)) or (to and until):
        raise CoordError(Kind.USAGE, f"{'--to' if to else '--no-landed'} does not go with what is to be landed")
    open_ledger(app.coord)
    names = [*resource, *(resources.read_stdin(is_nul) if from_stdin else ())]
    chosen = select(app, names, globs, is_all)
    if to is not None:
        return _hand_over(app, output, chosen, to, reason)
    dirty = _uncommitted(app, chosen)
    asked = Landing(landed_name, until, not is_untold)
    work = landed(app.branches(), app.coord.known.state, chosen, asked, dirty, app.branch)
    done = claims.release(app.coord, chosen, reason, work)
    app.refresh_snapshot()
    _warn_uncommitted(output, dirty)
    if is_all:
        _tell_left_alone(app, output, chosen)
    return tell(app, output, "landed" if until else "released", done)


def _tell_left_alone(app: App, output: Output, chosen: selection.Selection) -> None:
    """Say what `--all` does not give back: who believes that it holds nothing any more is told."""
    given = {claim.op for claim, _ in chosen.claims}
    waiting = [claim for claim in view(app.coord)[0].held_by(app.coord.me.agent) if claim.settling is not None]
    left = [claim for claim in waiting if claim.op not in given]
    if left:
        from .settling import left_alone

        for claim in left:
            output.talk(f"git coord: {left_alone(claim)}")


def _hand_over(app: App, output: Output, chosen: selection.Selection, to: str, reason: str) -> int:
    from . import handing_over  # hardly ever needed

    try:
        done = handing_over.hand_over(app, chosen, to, reason)
    finally:
        app.refresh_snapshot()
    _warn_uncommitted(output, _uncommitted(app, chosen))
    return handing_over.tell(app, output, to, done)


def select(app: App, names: list[str], globs: tuple[str, ...], is_all: bool) -> selection.Selection:
    """Return the own claims that the arguments mean; raises CoordError(USAGE) for none or both.

    What this clone does not know as ours may have been handed to us a moment ago: the remote is asked before that is
    called lost. Without an answer it stays what it was.
    """
    if is_all == bool(names or globs):
        raise CoordError(Kind.USAGE, "name paths or #tokens, or give --all")
    try:
        return _known(app, names, globs, is_all=is_all)
    except CoordError as lost:
        if lost.kind is not Kind.LOST or app.coord.remote is None or app.coord.settings.offline == "allow":
            raise
        try:
            fetch_and_adopt(app.coord, LEDGER_FAMILIES)
        except CoordError as trouble:
            if trouble.kind is not Kind.UNKNOWN:
                raise
            raise lost from None
        return _known(app, names, globs, is_all=is_all)


def _known(app: App, names: list[str], globs: tuple[str, ...], *, is_all: bool) -> selection.Selection:
    state, _ = view(app.coord)
    tokens, paths = resources.tokens_and_names(names)
    if is_all:
        return selection.everything(state, app.coord.me.agent)
    items = resources.plain_items(app, paths, globs)
    found = [*_by_token(app, tokens).claims]
    if items:
        taken = {claim.op for claim, _ in found}
        found += [
            pair for pair in selection.by_item(state, app.coord.me.agent, items).claims if pair[0].op not in taken
        ]
    return selection.Selection(tuple(found))


def _by_token(app: App, tokens: list[int]) -> selection.Selection:
    """Return the own claims of these tokens; of one that was taken, the error says by whom, however often it is asked.

    That it was taken is said once, which may have been elsewhere: by the `run` that the asking command works under.
    """
    state, _ = view(app.coord)
    try:
        return selection.by_token(state, tokens, app.coord.me.agent)
    except CoordError:
        from git_coord.service import gone as taken  # only after an error

        for each in taken.known(app.coord):
            if each.token in tokens:
                words = f"#{each.token} is yours no longer: {each.ended.words(app.coord.clock.now())}"
                raise CoordError(Kind.LOST, words, next="git coord status", data={"by": each.ended.by}) from None
        raise


def _uncommitted(app: App, chosen: selection.Selection) -> list[str]:
    meant = [item for claim, positions in chosen.claims for item in _meant(claim, positions)]
    return app.worktree.uncommitted([item.name for item in meant if item.kind is ItemKind.PATH])


def _warn_uncommitted(output: Output, dirty: list[str]) -> None:
    """Say which released files still have changes that nobody else can see."""
    if dirty:
        more = f" and {len(dirty) - 5} more" if len(dirty) > 5 else ""
        names = [escape_for_display(path) for path in dirty[:5]]
        output.talk(f"git coord: uncommitted changes in {', '.join(names)}{more}")


def _meant(claim: LiveClaim, positions: tuple[int, ...] | None) -> list[Item]:
    return [item for i, item in claim.live() if positions is None or i in positions]


def tell(app: App, output: Output, word: str, done: claims.Changed, more: Mapping[str, object] | None = None) -> int:
    """Show what a release, renew, break or expel changed; `more` goes into the object of `--json`."""
    if output.is_json:
        now = query.picture(app.coord)
        rows = [_object(change, now, word) for change in done.changes]
        output.object(
            {**(more or {}), "confirmed": done.is_confirmed, "claims": rows, "granted": served_objects(done.served)}
        )
        return 0
    for change in done.changes:
        output.lines([_line(app, change, word, is_confirmed=done.is_confirmed)])
    output.lines(served_lines(done.served))
    return 0


def served_objects(served: Sequence[Served]) -> list[dict[str, object]]:
    """Return the waiters that were granted by an operation as `--json` shows them."""
    return [
        {
            "token": each.claim.token,
            "agent": each.claim.holder,
            "items": [render.item_object(item) for _, item in each.claim.live()],
        }
        for each in served
    ]


def served_lines(served: Sequence[Served]) -> list[str]:
    """Return a line for each waiter that was granted by an operation."""
    return [
        f"granted  #{each.claim.token}   {each.claim.holder}   {names_of(item for _, item in each.claim.live())}"
        "   (was waiting)"
        for each in served
    ]


def names_of(items: Iterable[Item]) -> str:
    """Return the first of some items for a line, and how many more there are."""
    shown = [render.shown(item) for item in items]
    return "  ".join(shown[:8]) + (f"  +{len(shown) - 8}" if len(shown) > 8 else "")


def _object(change: Change, now: query.Picture, word: str) -> dict[str, object]:
    assert change.before is not None
    shown = change.after if word in KEPT and change.after else change.before
    entry = render.claim_object(now.held(shown))
    if word not in KEPT:
        entry["items"] = [render.item_object(item) for item in gone(change)]
    return entry


def gone(change: Change) -> list[Item]:
    """Return the items that a claim lost."""
    assert change.before is not None
    left = {i for i, _ in change.after.live()} if change.after and change.after is not change.before else set()
    return [item for i, item in change.before.live() if i not in left]


def _line(app: App, change: Change, word: str, *, is_confirmed: bool) -> str:
    assert change.before is not None
    shown = [item for _, item in change.before.live()] if word in KEPT else gone(change)
    whose = "" if change.before.holder == app.coord.me.agent else f" of {change.before.holder}"
    work = change.after.settling if word == "landed" and change.after else None
    waits = f"   waits for {work.until}" if work else ""
    return f"{word if is_confirmed else f'to be {word}'} #{change.before.token}{whose}   {names_of(shown)}{waits}"
