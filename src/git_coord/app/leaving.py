"""What becomes of an agent's claims when its session, or its connection, ends: one setting for edit hooks and MCP."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from git_coord.domain.ids import Agent, is_agent
from git_coord.errors import CoordError, Kind
from git_coord.lean import NamedTuple
from git_coord.service.context import Identity
from git_coord.service.heartbeat import push_beat
from git_coord.service.leases import is_shown, remember
from git_coord.service.ledger import view
from git_coord.service.presence import Wish, own_record, set_presence
from git_coord.service.sessions import is_of_this_clone

from .root import App, agent_signer

SETTING = "coord.onEnd"
HANDOVER = "handover:"
WORDS = f"release, keep, will or {HANDOVER}AGENT"


class Leaving(NamedTuple):
    """How one leaves: `release`, `keep`, `will`, or `handover` to an agent."""

    how: str
    to: Agent | None = None


def parse(text: str) -> Leaving | None:
    """Return what a word says, None when it is none of those."""
    if text in ("release", "keep", "will"):
        return Leaving(text)
    name = text.removeprefix(HANDOVER)
    return Leaving("handover", Agent(name)) if name != text and is_agent(name) else None


def configured(app: App, default: str) -> Leaving:
    """Return what the setting says; raises CoordError(ERROR) for a value that says nothing."""
    text = app.config.get(SETTING) or default
    found = parse(text)
    if found is None:
        raise CoordError(Kind.ERROR, f"{SETTING} is {text!r}, not {WORDS}", next=f"git config {SETTING} {default}")
    return found


def of_agent(app: App, leaving: Leaving) -> Leaving:
    """Return it for who acts here: nobody can hand over to itself, so that one releases."""
    return Leaving("release") if leaving.to == app.coord.me.agent else leaving


def depart(app: App, agents: Iterable[Agent], word: str) -> None:
    """Say for agents that work in this clone and can sign here that they are gone; a remote may learn it later."""
    coord = app.coord
    kept = coord.identity, coord.signer
    for agent in agents:
        member = coord.known.state.agents.get(agent)
        signer = agent_signer(app, coord.known.state.repo, agent)
        if member is None or signer is None or signer.key != member.key or not is_of_this_clone(coord, member.session):
            continue
        coord.identity, coord.signer = Identity(agent, member.session), signer
        set_presence(coord, Wish("offline", note=word, will=""))
        remember(coord, view(coord)[0], shows=False)
        with suppress(CoordError):
            push_beat(coord)
    coord.identity, coord.signer = kept


def show_offline(app: App, word: str) -> bool:
    """Say that nobody is here, with the agent's last will, else what it holds; tell if there was anything to say.

    Others see it with the next push. `word` is what has ended it, as in "disconnected".
    """
    coord = app.coord
    held = [claim.token for claim in view(coord)[0].held_by(coord.me.agent)]
    if not held and not is_shown(coord):
        return False
    own = own_record(coord)
    tokens = " ".join(f"#{token}" for token in held[:20])
    holds = f"{word}, holds {tokens} until the lease ends" if held else f"{word}, holds nothing"
    set_presence(coord, Wish("offline", note=(own.will if own is not None and own.will else holds)))
    remember(coord, view(coord)[0], shows=False)
    return True
