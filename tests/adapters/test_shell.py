"""The helper for shell scripts: claimed while the script lives, renewed meanwhile, given back however it ends."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys

import pytest

from tests.adapters.conftest import Pair
from tests.helpers import PATIENCE

SHELLS = [shell for shell in ("dash", "bash", "busybox") if shutil.which(shell)]


def _script(pair: Pair, body: str, shell: str = "sh", **env: str) -> subprocess.Popen[str]:
    line = [shell, *(["sh"] if shell == "busybox" else []), "-c", f'. "$(git coord adapter shell)"\n{body}']
    given = {**pair.alpha.env, "COORD_PAUSE": "0", **env}
    return subprocess.Popen(
        line, cwd=pair.alpha.path, env=given, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def _held(pair: Pair) -> list[str]:
    return [item["path"] for claim in pair.alpha.coord_json("status")["claims"] for item in claim["items"]]


@pytest.mark.parametrize("shell", SHELLS)
def test_what_a_script_claims_is_held_while_it_runs_and_its_status_stays(pair: Pair, shell: str) -> None:
    assert pair.alpha.coord("claim", "kept.txt").code == 0
    script = _script(pair, "coord_begin a.txt src || exit\ngit coord check a.txt\nexit 7", shell)
    out, err = script.communicate(timeout=PATIENCE)
    assert (script.returncode, "mine" in out) == (7, True), err
    assert _held(pair) == ["b.txt", "kept.txt"]


def test_a_refusal_is_tried_three_times_and_is_the_status(pair: Pair) -> None:
    script = _script(pair, "coord_begin b.txt || exit\necho never")
    out, err = script.communicate(timeout=PATIENCE)
    assert (script.returncode, out, err.count("refused, nothing claimed")) == (3, "", 3)


def test_a_script_ended_by_a_signal_gives_back(pair: Pair) -> None:
    script = _script(pair, "coord_begin a.txt || exit\necho ready\nwhile :; do sleep 0.1; done")
    assert script.stdout is not None
    assert script.stdout.readline() == "ready\n"
    assert _held(pair) == ["b.txt", "a.txt"]
    script.send_signal(signal.SIGTERM)
    script.communicate(timeout=PATIENCE)
    assert script.returncode == 143
    assert _held(pair) == ["b.txt"]


def test_the_claim_is_renewed_while_the_script_runs(pair: Pair) -> None:
    wait = f"{sys.executable} - <<END\n{WAIT_FOR_RENEWAL}\nEND"
    script = _script(pair, f"coord_begin a.txt || exit\n{wait}", COORD_RENEW="0")
    out, err = script.communicate(timeout=PATIENCE)
    assert (script.returncode, out) == (0, "renewed\n"), err
    assert _held(pair) == ["b.txt"]


WAIT_FOR_RENEWAL = (
    "import subprocess\n"
    "while 'renew' not in subprocess.run(['git', 'log', '-3', '--format=%s', 'refs/coord/claims'],"
    " capture_output=True, text=True).stdout: pass\n"
    "print('renewed')"
)
