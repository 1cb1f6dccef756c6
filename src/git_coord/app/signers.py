"""Who may join under `listed`: lines as ssh-keygen reads them, from a file or one by one, as the policy keeps them."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from git_coord.crypto.keys import load_public_key
from git_coord.crypto.sshsig import NAMESPACE, parse_public_key
from git_coord.crypto.trust import AllowedSigners, TrustedKey, load_allowed_signers, parse_allowed_signers
from git_coord.domain.ids import KeyText, is_agent, is_pattern_list
from git_coord.domain.statements import Listed
from git_coord.errors import CoordError, Kind


def signer_line(agent: str, key: KeyText) -> str:
    """Return the line of an allowed-signers file that lets this agent join."""
    return f'{agent} namespaces="{NAMESPACE}" {key}'


def listed_in(path: str, now: int) -> tuple[tuple[Listed, ...], tuple[str, ...]]:
    """Return what an allowed-signers file admits now, and a sentence on each line that counts for nothing.

    Raises CoordError: UNTRUSTED for a file that cannot be read to its end, USAGE for a line with an end in the future,
    which no policy can keep, and when nobody is admitted.
    """
    file = Path(os.path.expanduser(path))
    found, passed = _listed(load_allowed_signers(file), str(file), now)
    if not found:
        raise CoordError(Kind.USAGE, "; ".join([f"{path} lists no key that may sign for an agent now", *passed]))
    return found, passed


def _listed(read: AllowedSigners, name: str, now: int) -> tuple[tuple[Listed, ...], tuple[str, ...]]:
    found: list[Listed] = []
    passed = list(read.skipped)
    for entry in read.keys:
        where = f"{name}:{entry.line}"
        if not entry.serves(NAMESPACE):
            passed.append(f"{where}: is for other namespaces than {NAMESPACE}, line skipped")
        elif not entry.is_valid(now):
            passed.append(f"{where}: is not valid now, line skipped")
        elif entry.valid_before is not None:
            raise CoordError(
                Kind.USAGE,
                f"{where}: a policy keeps no end of a key (valid-before); leave it out, and take the key out in time",
                next=f"git coord policy --disallow {parse_public_key(entry.key).fingerprint}",
            )
        else:
            found += [Listed(names, entry.key) for names in _names(entry, where, passed)]
    return tuple(dict.fromkeys(found)), tuple(passed)


def _names(entry: TrustedKey, where: str, passed: list[str]) -> list[str | None]:
    """Return the names of a line, each by itself where they are names; None is any."""
    if entry.principals == ("*",):
        return [None]
    if any(set("*?!") & set(pattern) for pattern in entry.principals):
        patterns = ",".join(entry.principals)
        if not is_pattern_list(patterns):
            raise CoordError(Kind.USAGE, f"{where}: its principals are more than a policy can keep")
        return [patterns]
    names: list[str | None] = [name for name in entry.principals if is_agent(name)]
    if not names:
        passed.append(f"{where}: {','.join(entry.principals)} is no agent's name, line skipped")
    return names


def allow(present: Sequence[Listed], given: str, name: str | None, now: int) -> tuple[Listed, ...]:
    """Return the list with one more: a key file under a name or patterns, or the line that `whoami --signer` prints."""
    line = _line(given, name)
    found, passed = _listed(parse_allowed_signers(line.encode(errors="surrogateescape"), "--allow"), "--allow", now)
    if not found:
        raise CoordError(Kind.USAGE, "; ".join(passed) or f"--allow {given!r} names no key")
    return tuple(dict.fromkeys([*present, *found]))


def _line(given: str, name: str | None) -> str:
    if len(given.split()) > 1 and not os.path.exists(os.path.expanduser(given)):
        if name is not None and given.split(maxsplit=1)[0].startswith(("ssh-", "sk-", "ecdsa-")):
            return f"{name} {given}"
        return given
    if name is None:
        raise CoordError(
            Kind.USAGE, f"--allow {given} needs --as NAME", next=f"git coord policy --allow {given} --as NAME"
        )
    return f"{name} {load_public_key(Path(os.path.expanduser(given)))}"


def disallow(present: Sequence[Listed], given: str, name: str | None) -> tuple[Listed, ...]:
    """Return the list without a key: named by its file, its line, its fingerprint, or the agent it was listed for."""
    gone = _meant(given)
    left = tuple(one for one in present if not (gone(one) and name in (None, one.agent)))
    if len(left) == len(present):
        raise CoordError(Kind.USAGE, f"{given} is not listed", next="git coord policy")
    return left


def _meant(given: str) -> Callable[[Listed], bool]:
    if is_agent(given) and not os.path.exists(os.path.expanduser(given)):
        return lambda one: one.agent == given
    is_meant = key_meant(given, "--disallow")
    return lambda one: is_meant(one.key)


def key_meant(given: str, where: str) -> Callable[[KeyText], bool]:
    """Return what tells the key that is meant by its fingerprint, its line, or the file it is in.

    Raises CoordError for what is none of these; `where` says in its words what was typed.
    """
    if given.startswith("SHA256:"):
        return lambda key: parse_public_key(key).fingerprint == given
    if len(given.split()) > 1 and not os.path.exists(os.path.expanduser(given)):
        keys = {entry.key for entry in parse_allowed_signers(_as_line(given).encode(), where).keys}
    else:
        keys = {load_public_key(Path(os.path.expanduser(given)))}
    return lambda key: key in keys


def _as_line(given: str) -> str:
    return f"* {given}" if given.startswith(("ssh-", "sk-", "ecdsa-")) else given
