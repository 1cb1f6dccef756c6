"""Old states of a file, put over what its holder made since: none of them is carried work, whoever made it once."""

from __future__ import annotations

from tests.helpers import Repo
from tests.verify.stage import Stage, kinds, push, succeed


def change(repo: Repo, how: str) -> None:
    """Commit something at `a.txt` that was made before, or is made of what is there."""
    if how == "revert":
        repo.git("revert", "--no-edit", "HEAD")
        return
    blob = repo.rev("HEAD:a.txt")
    match how:
        case "old state":
            repo.git("checkout", "HEAD~1", "--", "a.txt")
        case "older state":
            repo.git("checkout", "HEAD~2", "--", "a.txt")
        case "mode":
            repo.git("update-index", "--chmod=+x", "a.txt")
        case "link":
            repo.git("update-index", "--cacheinfo", f"120000,{blob},a.txt")
        case "submodule":
            repo.git("update-index", "--cacheinfo", f"160000,{repo.rev('HEAD')},a.txt")
        case "elsewhere":
            repo.git("mv", "a.txt", "z.txt")
    repo.git("commit", "-q", "-m", how)


def test_no_state_from_before_the_holder_is_put_back_over_its_work(stage: Stage) -> None:
    """Alpha made one state under its claim and let go; beta, who holds the file now, made the next."""
    stage.alpha.commit("by alpha", **{"a.txt": "alpha\n"})
    stage.alpha.git("push", "-q", "origin", "main")
    succeed(stage.alpha, "release", "a.txt")
    stage.beta.git("pull", "-q")
    succeed(stage.beta, "claim", "a.txt")
    stage.beta.commit("by beta", **{"a.txt": "beta\n"})
    stage.beta.git("push", "-q", "origin", "main")
    succeed(stage.beta, "sync")
    ci = Repo(stage.folder / "ci", {k: v for k, v in stage.hub.env.items() if k != "GIT_COORD_AGENT"})
    stage.hub.git("clone", "-q", stage.url, str(ci.path))
    for number, how in enumerate(["revert", "old state", "older state", "mode", "link", "submodule", "elsewhere"]):
        ci.git("checkout", "-q", "-f", "-B", f"t{number}", "origin/main")
        change(ci, how)
        push(ci, f"t{number}")
        answer = ci.coord_json("verify", "origin/main..HEAD", code=3)
        assert kinds(answer) == [(ci.rev("HEAD"), "a.txt", "no-receipt")], how
