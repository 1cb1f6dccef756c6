"""What two agents do at any remote that works, from the founding to the verdict of CI."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor

from tests.helpers import Completed, Repo
from tests.remotes.pair import Pair


def two_agents_work(pair: Pair) -> None:
    """Found, join, claim, conflict, release, sync, commit, push, verify: each with its exact outcome."""
    alpha, beta = pair.alpha, pair.beta
    assert alpha.coord_json("init", "--agent", "alpha")["ledger"] == "new"
    alpha.coord_json("hooks", "install")
    assert beta.coord_json("init", "--agent", "beta")["ledger"] == "adopted"
    assert alpha.coord_json("claim", "a.txt")["confirmed"] is True
    assert beta.coord_json("claim", "a.txt", code=3)["holder"] == "alpha"
    assert beta.coord_json("claim", "b.txt")["confirmed"] is True
    alpha.commit("mine", **{"a.txt": "by alpha\n"})
    alpha.git("push", "-q", "origin", "HEAD:main")
    assert alpha.coord_json("release", "a.txt")["confirmed"] is True
    synced = beta.coord_json("sync")
    assert (synced["moved"], synced["lost"]) == (True, [])
    assert beta.coord_json("claim", "a.txt")["token"] == 3
    beta.git("fetch", "-q")
    # Only alpha's receipt, which came by the remote, excuses the commit now that beta holds the file.
    judged = beta.coord_json("verify", "HEAD..origin/main")
    assert (judged["commits"], judged["violations"]) == (1, [])
    assert alpha.coord_json("sync")["lost"] == []
    assert pair.claims_at_hub()[-4:] == TOLD
    heads = {clone.rev("refs/coord/claims") for clone in (alpha, beta)} | {pair.hub.rev(f"{pair.prefix}/claims")}
    assert len(heads) == 1


def one_of_two_wins(pair: Pair) -> None:
    """Let both claim the same file at the same moment: one is granted it, and the other is told who."""
    both = {"alpha": pair.alpha, "beta": pair.beta}
    gate = threading.Barrier(len(both))

    def claim(clone: Repo) -> Completed:
        gate.wait()
        return clone.coord("claim", "c.txt", "--json")

    with ThreadPoolExecutor(len(both)) as pool:
        done = dict(zip(both, pool.map(claim, both.values()), strict=True))
    (winner,) = [name for name, one in done.items() if one.code == 0]
    (loser,) = [one for one in done.values() if one.code == 3]
    assert json.loads(loser.out)["holder"] == winner
    assert [line for line in pair.claims_at_hub() if line.endswith("claims c.txt (edit)")] == [
        f"#4 {winner} claims c.txt (edit)"
    ]


TOLD = [
    "beta is refused claim a.txt (edit): alpha #1",
    "#2 beta claims b.txt (edit)",
    "alpha releases #1",
    "#3 beta claims a.txt (edit)",
]
"""The end of the ledger's log after `two_agents_work`."""


def assert_one_line(done: Completed, *, code: int = 5) -> str:
    """See that a command failed in one line, and at most one that says what to do; return the first."""
    lines = done.err.splitlines()
    shape = (done.code, done.out, lines[0][:11], [line[:7] for line in lines[1:]])
    assert shape == (code, "", "git coord: ", ["next   "] * (len(lines) > 1)), done
    return lines[0]


def assert_healed(pair: Pair) -> None:
    """After a claim that failed: a sync takes it back wherever it had got, and everybody agrees."""
    assert pair.alpha.coord_json("sync")["lost"] == []
    assert pair.beta.coord_json("claim", "a.txt")["confirmed"] is True
    assert pair.alpha.coord_json("claim", "a.txt", code=3)["holder"] == "beta"
    found = pair.alpha.coord_json("doctor")["findings"]
    assert [row for row in found if row["level"] == "wrong"] == []
    assert pair.alpha.rev("refs/coord/claims") == pair.hub.rev("refs/coord/claims")
