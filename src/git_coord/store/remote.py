"""The remote over the git program: every command line that touches the network is spelled here, once each."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Collection, Mapping, Sequence

from git_coord.clock import Clock
from git_coord.domain.ids import Oid
from git_coord.errors import CoordError, Kind
from git_coord.lean import NamedTuple
from git_coord.process import Completed

from . import refnames
from .git import Git, first_words, host_words
from .interface import ABSENT, Place, PushedRef, PushStatus, RefUpdate, Store, Swap
from .mending import are_whole, asking_for_all, drop_broken_copies
from .oneatatime import OneAtATime
from .refnames import Family, Ref

_QUIET = ("-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "core.logAllRefUpdates=false")
_FETCH = ("fetch", "--prune", "--no-tags", "--no-filter", "--no-recurse-submodules", "--no-write-fetch-head")
# Heartbeats come many at a time and are of no use soon after: as loose objects they can be cleared away one by one.
_LOOSE = ("-c", "fetch.unpackLimit=1000")
_PUSH_PLAIN = ("-c", "push.pushOption=", "-c", "push.negotiate=false", "-c", "pack.threads=1", "-c", "pack.window=0")
"""The last two: looking for deltas among a dozen small objects takes longer than sending them."""
_PUSH = (*_PUSH_PLAIN, "push", "--porcelain", "--no-verify")
_PUSH_NOTHING_ELSE = ("--no-follow-tags", "--no-signed", "--recurse-submodules=no")
_OURS = ("stale info", "remote ref updated since checkout")
"""Refusals of the git here, which sent nothing then."""
_COPIES = (refnames.FETCHED, refnames.prefix(Family.NOTES, fetched=True))
FETCH_TRIES = 5
"""Each one after the first because a push of another process landed in between."""
_SSH_SCHEMES = ("ssh://", "git+ssh://", "ssh+git://")


class Timeouts(NamedTuple):
    """How many seconds a fetch and a push may take, waiting for another fetch of this clone included."""

    fetch: float = 10.0
    push: float = 30.0


class Hurry(NamedTuple):
    """Until when, on the monotonic clock, all that is asked must end, and how many seconds that were."""

    deadline: float
    seconds: float


class GitRemote:
    """A remote reached by `git fetch` and `git push`; `lock_dir` is the folder `coord` in the common git directory."""

    def __init__(
        self,
        git: Git,
        store: Store,
        place: Place,
        *,
        lock_dir: str,
        clock: Clock,
        timeouts: Timeouts | None = None,
        reach: Callable[[str], None] = lambda _name: None,
    ) -> None:
        """Prepare; nothing is run yet. `reach` is told of the steps of a fetch and a push.

        Raises CoordError(ERROR) for a URL that git would take for an option.
        """
        _refuse_option(place.url)
        self._git = git.online()
        self._store = store
        self._place = place
        self._timeouts = timeouts or Timeouts()
        self._clock = clock
        self._turns = OneAtATime(lock_dir, clock, reach)
        self._reach = reach
        self._ssh: dict[str, str] | None = None
        self._hurry: Hurry | None = None

    @property
    def name(self) -> str:
        """The configured name."""
        return self._place.name

    @property
    def place(self) -> Place:
        """Where it is."""
        return self._place

    def at(self, place: Place) -> GitRemote:
        """Return the same for another place."""
        folder, reach = self._turns.folder, self._reach
        made = GitRemote(
            self._git, self._store, place, lock_dir=folder, clock=self._clock, timeouts=self._timeouts, reach=reach
        )
        made._hurry = self._hurry
        return made

    def hurry(self, seconds: float | None) -> None:
        """Let all that is asked from now on end in so many seconds altogether; None for as long as usual."""
        self._hurry = None if seconds is None else Hurry(self._clock.monotonic() + seconds, seconds)

    def _in_time(self, usual: float) -> tuple[float, float]:
        """Return how many seconds there are, and how many people know of; CoordError(UNKNOWN) when there are none."""
        if self._hurry is None:
            return usual, usual
        said = min(usual, self._hurry.seconds)
        left = self._hurry.deadline - self._clock.monotonic()
        if left <= 0:
            raise CoordError(Kind.UNKNOWN, f"no answer from {self.name} in {said:g} s")
        return min(usual, left), said

    def fetch(self, families: Collection[Family]) -> None:
        """Bring these families into the fetched namespace, or share a fetch that began after this was asked."""
        seconds, limit = self._in_time(self._timeouts.fetch)
        scope = f"{self._place.prefix} {self._place.url}"
        names = [family.value for family in families]
        with self._turns.turn(scope, names, seconds) as turn:
            if turn.left is None:
                raise CoordError(Kind.UNKNOWN, f"no answer from {self.name} in {limit:g} s: another fetch is running")
            if not turn.done:
                self._fetch(families, turn.left, limit)
                turn.done = True

    def mend(self) -> bool:
        """Where objects of ours are missing or damaged, drop copies that need them and fetch everything anew."""
        seconds, limit = self._in_time(self._timeouts.fetch)
        if are_whole(self._git, self._store, common := os.path.dirname(self._turns.folder), seconds):
            return False
        with self._turns.turn(f"mend {self._place.prefix} {self._place.url}", (), seconds) as turn:
            drop_broken_copies(self._store, common)
            if self._run(asking_for_all(line := self._fetch_line([*Family], {})), turn.left or 0, limit).code:
                self._run(line, turn.left or 0, limit)
        return True

    def push(self, updates: Sequence[RefUpdate], *, record: bool = True) -> list[PushedRef]:
        """Ask the remote to move each ref from exactly its old value; refs are decided one by one."""
        if not updates:
            return []
        line = self._push_line(updates)
        done = self._run(line, *self._in_time(self._timeouts.push), began=lambda: self._reach("push sent"))
        self._reach("push answered")
        told = _porcelain(done.out)
        answers = [told.get(refnames.on_remote(update.ref, self._place.prefix)) for update in updates]
        known = [(update, answer) for update, answer in zip(updates, answers, strict=True) if answer is not None]
        if record or len(known) < len(updates):
            self.record([update for update, (status, _) in known if status is not PushStatus.REJECTED])
        if len(known) < len(updates):
            raise self._unknown(done, "did not say what became of the push")
        said = host_words(done.err)
        return [
            PushedRef(update.ref, status, reason, said if status is PushStatus.REJECTED and reason not in _OURS else "")
            for update, (status, reason) in known
        ]

    def deepen(self, commits: int, tip: Oid) -> None:
        """Fetch that many more commits of user history behind `tip` in a shallow clone."""
        self._bring([f"--deepen={commits}", "--end-of-options", self._place.url, tip])

    def bring(self, oids: Sequence[Oid]) -> None:
        """Fetch single objects of the user's by their ids; each must be there, whatever refs lead to it."""
        asked = "".join(f"{oid}\n" for oid in oids).encode("ascii")
        self._bring(["--stdin", "--end-of-options", self._place.url], asked)

    def _bring(self, arguments: Sequence[str], stdin: bytes = b"") -> None:
        line = (*_QUIET, "fetch", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head", *arguments)
        done = self._run(line, self._timeouts.fetch, stdin=stdin)
        if done.code != 0:
            raise self._unknown(done, "could not be fetched from")

    def _fetch(self, families: Collection[Family], seconds: float, limit: float) -> None:
        """Fetch, and again when it failed while the fetched copies moved: another process's push recorded them."""
        deadline = self._clock.monotonic() + seconds
        for _ in range(FETCH_TRIES):
            known = self._store.refs(*_COPIES)
            done = self._run(self._fetch_line(families, known), max(0.0, deadline - self._clock.monotonic()), limit)
            if done.code == 0:
                return
            if self._store.refs(*_COPIES) == known:
                break
        raise self._unknown(done, "could not be fetched from")

    def _fetch_line(self, families: Collection[Family], known: Mapping[Ref, Oid]) -> list[str]:
        # Without a tip, git tells the remote the user's own commits; with one that matches nothing, it fetches anew.
        has_tips = any(ref.startswith(refnames.FETCHED) for ref in known)
        tips = [f"--negotiation-tip={refnames.NEGOTIATION_TIPS}"] if has_tips else []
        specs = refnames.fetch_refspecs(families, self._place.prefix)
        return [*_QUIET, *_LOOSE, *_FETCH, *tips, "--end-of-options", self._place.url, *specs]

    def _push_line(self, updates: Sequence[RefUpdate]) -> list[str]:
        leases, specs = [], []
        for update in updates:
            there = refnames.on_remote(update.ref, self._place.prefix)
            # Empty means "must not exist", as an empty source means "delete".
            leases.append(f"--force-with-lease={there}:{'' if update.old is ABSENT else update.old}")
            specs.append(f"{'' if update.new is ABSENT else update.new}:{there}")
        return [*_PUSH, *_PUSH_NOTHING_ELSE, *leases, "--end-of-options", self._place.url, *specs]

    def _run(
        self,
        line: Sequence[str],
        timeout: float,
        said: float | None = None,
        began: Callable[[], None] | None = None,
        stdin: bytes = b"",
    ) -> Completed:
        """Run within a time; `said` is the limit that people know, where part of it was used up before."""
        try:
            return self._git.run(line, stdin, timeout, check=False, env=self._ssh_command(timeout), began=began)
        except CoordError as error:
            if error.kind is not Kind.UNKNOWN:
                raise
            raise CoordError(Kind.UNKNOWN, f"no answer from {self.name} in {said or timeout:g} s") from None

    def _ssh_command(self, timeout: float) -> Mapping[str, str]:
        """Return the setting that keeps ssh from asking questions, unless the user has their own command."""
        if self._ssh is None:
            own = "GIT_SSH_COMMAND" in self._git.env or "GIT_SSH" in self._git.env or not _is_ssh(self._place.url)
            if own or self._git.config().get("core.sshCommand") is not None:
                self._ssh = {}
            else:
                seconds = max(1, round(timeout))
                self._ssh = {"GIT_SSH_COMMAND": f"ssh -o BatchMode=yes -o ConnectTimeout={seconds}"}
        return self._ssh

    def record(self, landed: Sequence[RefUpdate]) -> None:
        """Set the fetched copies to what the remote now has; a fetch that got there first knows better.

        Each from the very value the push named: a copy that has moved since shows what came after the push.
        """
        moves = [update._replace(ref=refnames.fetched(update.ref)) for update in landed]
        # The push has happened: trouble here may not hide that, and the next fetch sets it right.
        with contextlib.suppress(CoordError):
            if moves and self._store.swap(moves, "pushed") is Swap.STALE:
                now = self._store.refs(*(move.ref for move in moves))
                self._store.swap([move for move in moves if now.get(move.ref, ABSENT) == move.old], "pushed")

    def _unknown(self, done: Completed, otherwise: str) -> CoordError:
        words = first_words(done.err)
        return CoordError(Kind.UNKNOWN, f"{self.name}: {words or otherwise}", data={"reason": words})


def resolve_url(git: Git, name: str) -> str:
    """Return the push URL of a configured remote, as git's own rules rewrite it.

    Raises CoordError(ERROR) when there is no such remote, when it has several push URLs (the ledger is read and
    written in one place), or when name or URL would be taken for an option.
    """
    _refuse_option(name)
    done = git.run(["remote", "get-url", "--push", "--all", "--end-of-options", name], check=False)
    if done.code != 0:
        raise CoordError(Kind.ERROR, f"no remote named {name!r}", next="git remote")
    urls = os.fsdecode(done.out).splitlines()
    if len(urls) != 1:
        raise CoordError(
            Kind.ERROR,
            f"remote {name} has {len(urls)} push URLs; the ledger needs one",
            next=f"git config --replace-all remote.{name}.pushurl {urls[0]}",
        )
    _refuse_option(urls[0])
    return urls[0]


def _refuse_option(text: str) -> None:
    if text.startswith("-"):
        raise CoordError(Kind.ERROR, f"not a remote: {text!r}")


def _is_ssh(url: str) -> bool:
    """Tell whether git would start ssh: a scheme, or `host:path` with no slash before the colon."""
    return url.startswith(_SSH_SCHEMES) or ("://" not in url and ":" in url.partition("/")[0])


def _porcelain(out: bytes) -> dict[Ref, tuple[PushStatus, str]]:
    """Return what `git push --porcelain` says of each ref, by its name on the remote."""
    answers = {}
    for line in out.decode("utf-8", "replace").splitlines():
        flag, _, rest = line.partition("\t")
        names, _, summary = rest.partition("\t")
        status = _status(flag, summary)
        if status is not None:
            answers[Ref(names.rpartition(":")[2])] = (status, _reason(summary) if status is PushStatus.REJECTED else "")
    return answers


def _status(flag: str, summary: str) -> PushStatus | None:
    if flag in {"*", " ", "+", "-"}:
        return PushStatus.LANDED
    if flag == "=":
        return PushStatus.SAME
    # The third kind, `[remote failure]`, is a remote that never reported: the ref may have moved.
    if flag == "!" and summary.startswith(("[rejected]", "[remote rejected]")):
        return PushStatus.REJECTED
    return None


def _reason(summary: str) -> str:
    _, opened, inner = summary.partition("(")
    return inner.removesuffix(")") if opened else ""
