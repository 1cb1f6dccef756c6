"""`git coord post`: write to the postboard, update or remove an own post."""

from __future__ import annotations

import click

from git_coord.app import App
from git_coord.domain.announcements import POST_STATES
from git_coord.domain.ids import Agent, Nonce, is_agent
from git_coord.domain.text import is_clean_line
from git_coord.errors import CoordError, Kind
from git_coord.service import posts
from git_coord.service.exchange.send import send
from git_coord.service.ledger import open_ledger, view
from git_coord.service.operations import require_membership

from . import options, render, resources
from .status_command import post_line, post_object

VERBS = ("take", "update", "remove")


@click.command("post", context_settings=options.HELP)
@click.argument("words", nargs=-1, required=True, metavar="TEXT | take ID | update ID | remove ID")
@click.option("--to", metavar="AGENT", help="Whom it is for; without it, everybody.")
@click.option("--claim", "claim", metavar="#TOKEN", help="The claim it is about.")
@click.option("--status", type=click.Choice(POST_STATES), help="With update: its new status.")
@click.option(
    "-m", "text", callback=options.clean_line, help="With update: its new text; with take: a word to its author."
)
@options.common
def command(
    words: tuple[str, ...],
    to: str | None,
    claim: str | None,
    status: str | None,
    text: str | None,
    as_json: bool,
    agent: str | None,
) -> int:
    """Post one line for others. It is pushed at once, and they see it, once, in the output of what they run anyway.

    take: say that you take on somebody's post (exit 3 when another did). Only its author changes a post; with update
    and remove you change your own posts, or what you say about one you took: done, dropped.
    """
    app, output = options.means(as_json, agent)
    open_ledger(app.coord)
    options.require_here(app)
    require_membership(app.coord)
    if words[0] in VERBS and len(words) == 2:
        posted = _change(app, words[0], words[1], status, text)
    else:
        posted = posts.add_post(app.coord, _line(words, status, text), _addressee(app, to), _claim(app, claim))
    why = send(app.coord)
    if output.is_json:
        output.object({**post_object(posted), **render.sent_object(why)})
    else:
        word = "removed  " if words[0] == "remove" and len(words) == 2 else ""
        output.lines([word + post_line(posted, app.coord.clock.now()), *render.not_sent(why)])
    return 0


def _line(words: tuple[str, ...], status: str | None, text: str | None) -> str:
    if status is not None or text is not None:
        raise CoordError(Kind.USAGE, "--status and -m go with: update ID")
    if words in [(verb,) for verb in VERBS]:
        raise CoordError(Kind.USAGE, f"{words[0]} which post? Give its ID", next="git coord posts")
    line = " ".join(words)
    if not line.strip():
        raise CoordError(Kind.USAGE, "a post needs a text")
    if not is_clean_line(line):
        raise CoordError(Kind.USAGE, "TEXT must be one line of at most 500 characters without control characters")
    return line


def _change(app: App, verb: str, post_id: str, status: str | None, text: str | None) -> posts.Posted:
    if verb == "remove":
        return posts.remove_post(app.coord, post_id)
    if verb == "take":
        return posts.take_post(app.coord, post_id, text or "")
    if status is None and text is None:
        raise CoordError(Kind.USAGE, "give --status or -m", next=f"git coord post update {post_id} --status done")
    return posts.update_post(app.coord, post_id, status, text)


def _addressee(app: App, to: str | None) -> Agent | None:
    if to is None:
        return None
    if not is_agent(to) or to not in app.coord.known.state.agents:
        raise CoordError(Kind.USAGE, f"no agent {to!r} here", next="git coord presence")
    return Agent(to)


def _claim(app: App, text: str | None) -> Nonce | None:
    if text is None:
        return None
    tokens, _ = resources.tokens_and_names([text if text.startswith("#") else f"#{text}"])
    state, _ = view(app.coord)
    found = state.claim_by_token(tokens[0]) if tokens else None
    if found is None:
        raise CoordError(Kind.USAGE, f"no live claim {text}", next="git coord status")
    return found.op
