"""Where events go: lines, a command for each, a webhook. A sink that cannot deliver now says so and is asked again."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from http.client import HTTPException
from typing import Any, Protocol
from urllib.error import HTTPError
from urllib.request import HTTPRedirectHandler, Request, build_opener

from git_coord.clock import Clock
from git_coord.domain.canonical import dumps
from git_coord.domain.text import escape_for_display
from git_coord.service.events import Event

EXEC_SECONDS = 60
"""How long a command may take for one event; then it and its children are killed."""
ATTEMPTS = 5
FIRST_WAIT = 0.5
LONGEST_WAIT = 8.0
"""Seconds between attempts of one delivery: doubled each time, and half of it by chance."""
ANSWER_SECONDS = 10
AGAIN = (408, 425, 429)
"""Refusals that are about the moment; any other from 300 to 499 is final, another try would not change it."""


class UndeliveredError(Exception):
    """The event could not be delivered now; the words say why."""


class Sink(Protocol):
    """Takes one event at a time, as the object that `--json` prints."""

    def send(self, event: Event, payload: Mapping[str, Any]) -> None:
        """Deliver it; raises UndeliveredError when it is to be tried again later."""


class Lines:
    """Prints each event at once: one line for people, or one JSON object."""

    def __init__(self, *, is_json: bool, local_time: Callable[[int], str]) -> None:
        """Remember the form."""
        self._is_json = is_json
        self._local_time = local_time

    def send(self, event: Event, payload: Mapping[str, Any]) -> None:
        """Print; raises BrokenPipeError when nobody reads any more."""
        plain = f"{self._local_time(event.at)}  {event.kind:16}  {escape_for_display(event.text)}"
        sys.stdout.write((dumps(dict(payload)).decode("ascii") if self._is_json else plain) + "\n")
        sys.stdout.flush()


class Command:
    """Runs a command line of the user's for each event, with the object on its standard input."""

    def __init__(self, line: str, env: Mapping[str, str], tell: Callable[[str], None]) -> None:
        """Take the line as it was typed; nothing from a repository ever comes here."""
        self._line = line
        self._env = env
        self._tell = tell

    def send(self, event: Event, payload: Mapping[str, Any]) -> None:
        """Run it to its end. How it ends is its own affair and only said: it is not run twice for that."""
        env = {**self._env, "GIT_COORD_EVENT_ID": event.id, "GIT_COORD_EVENT_KIND": event.kind}
        # Its output goes beside ours: what is on our standard output is events and nothing else.
        with subprocess.Popen(
            ["/bin/sh", "-c", self._line], stdin=subprocess.PIPE, stdout=sys.stderr, env=env, start_new_session=True
        ) as child:
            try:
                child.communicate(dumps(dict(payload)) + b"\n", EXEC_SECONDS)
            except subprocess.TimeoutExpired:
                _kill(child)
                self._tell(f"--exec was killed after {EXEC_SECONDS} s, at event {event.id}")
                return
            except BaseException:
                _kill(child)
                raise
        if child.returncode:
            self._tell(f"--exec ended with status {child.returncode} at event {event.id}")


def _kill(child: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


class _NoRedirect(HTTPRedirectHandler):
    def redirect_request(self, *_args: Any) -> None:
        """Follow nowhere: urllib would turn the POST into a GET, and an event may not go where nobody sent it."""


class Webhook:
    """POSTs each event; an event goes out at least once, and its id lets the receiver drop repeats."""

    def __init__(self, url: str, clock: Clock, jitter: Callable[[], float], tell: Callable[[str], None]) -> None:
        """Take the address; the caller checked that it is http or https."""
        self._url = url
        self._clock = clock
        self._jitter = jitter
        self._tell = tell
        self._opener = build_opener(_NoRedirect)

    def send(self, event: Event, payload: Mapping[str, Any]) -> None:
        """Try a few times, a little longer apart each time; raises UndeliveredError when nobody took it."""
        trouble = ""
        for attempt in range(ATTEMPTS):
            if attempt:
                self._clock.sleep(min(LONGEST_WAIT, FIRST_WAIT * 2 ** (attempt - 1)) * (0.5 + self._jitter() / 2))
            try:
                self._post(event, payload)
                return
            except HTTPError as answer:
                answer.close()
                trouble = f"status {answer.code}"
                if answer.code < 500 and answer.code not in AGAIN:
                    self._tell(f"the webhook refuses event {event.id}: {trouble}; going on without")
                    return
            except (OSError, HTTPException) as error:
                trouble = str(getattr(error, "reason", error)) or type(error).__name__
        raise UndeliveredError(f"the webhook does not take events: {trouble}")

    def _post(self, event: Event, payload: Mapping[str, Any]) -> None:
        headers = {
            "Content-Type": "application/json",
            "User-Agent": "git-coord",
            "X-Git-Coord-Event": event.id,
            "X-Git-Coord-Kind": event.kind,
        }
        request = Request(self._url, dumps(dict(payload)), headers, method="POST")  # noqa: S310 - checked by the caller
        with self._opener.open(request, timeout=ANSWER_SECONDS) as answer:
            answer.read(1 << 16)
