"""Two agents over every kind of server: git's own two, another implementation of git, and real ref permissions."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers import Repo, new_repo
from tests.remotes.pair import clones
from tests.remotes.servers import Gitolite, dulwich_daemon, git_daemon, git_over_http, gitolite_shell
from tests.remotes.story import assert_one_line, one_of_two_wins, two_agents_work


@pytest.mark.slow
def test_two_agents_work_over_gits_own_daemon(hub: Repo, tmp_path: Path, env: dict[str, str]) -> None:
    with git_daemon(tmp_path, env, "--enable=receive-pack") as url:
        pair = clones(tmp_path, env, f"{url}/hub.git", hub)
        two_agents_work(pair)
        one_of_two_wins(pair)


@pytest.mark.slow
def test_two_agents_work_over_smart_http(hub: Repo, tmp_path: Path, env: dict[str, str]) -> None:
    hub.git("config", "http.receivepack", "true")
    with git_over_http(tmp_path, env) as (url, answers):
        pair = clones(tmp_path, env, f"{url}/hub.git", hub)
        two_agents_work(pair)
        one_of_two_wins(pair)
    assert set(answers) == {200}


@pytest.mark.slow
def test_two_agents_work_over_smart_http_with_a_password(hub: Repo, tmp_path: Path, env: dict[str, str]) -> None:
    with git_over_http(tmp_path, env, password="open sesame") as (url, answers):
        where = url.removeprefix("http://")
        Path(env["HOME"], "credentials").write_text(f"http://git:open%20sesame@{where}\n")
        hub.git("config", "--global", "credential.helper", f"store --file={env['HOME']}/credentials")
        pair = clones(tmp_path, env, f"{url}/hub.git", hub)
        two_agents_work(pair)
        one_of_two_wins(pair)
    assert set(answers) == {200, 401}


@pytest.mark.slow
def test_two_agents_work_over_another_implementation_of_git(hub: Repo, tmp_path: Path, env: dict[str, str]) -> None:
    with dulwich_daemon(hub.path) as url:
        pair = clones(tmp_path, env, url, hub)
        two_agents_work(pair)


@pytest.fixture
def gitolite(tmp_path: Path, env: dict[str, str]) -> Gitolite:
    shell = gitolite_shell()
    if shell is None:
        pytest.skip("there is no gitolite here; Debian's package is gitolite3")
    return Gitolite(tmp_path / "gitolite", env, shell)


def seed(folder: Path, env: dict[str, str]) -> None:
    """Push the first commit."""
    made = new_repo(folder / "seed", env)
    made.commit("first", **{"README.md": "hello\n"})
    made.git("push", "-q", "git@gitolite:hub", "main")


STRICT = (
    "RW+ refs/heads/ = @all",
    "RW refs/coord/claims$ = @all",
    *(f"RW+ refs/coord/[a-z]+/{name}$ = {name}" for name in ("alpha", "beta")),
    *(f"RW refs/notes/coord/{name}$ = {name}" for name in ("alpha", "beta")),
)
"""Nobody rewinds the ledger, and nobody writes what is another's."""


@pytest.mark.slow
def test_two_agents_work_under_the_strictest_ref_permissions(
    gitolite: Gitolite, tmp_path: Path, env: dict[str, str]
) -> None:
    gitolite.rules(*STRICT)
    own = {name: gitolite.reached_by(name) for name in ("alpha", "beta")}
    seed(tmp_path, env | own["alpha"])
    pair = clones(tmp_path, env | own["alpha"], "git@gitolite:hub", gitolite.hub, beta=own["beta"])
    two_agents_work(pair)
    before = gitolite.hub.refs()
    for spec in ("+refs/coord/claims~1:refs/coord/claims", ":refs/coord/claims", "+HEAD:refs/coord/requests/alpha"):
        refused = pair.beta.run("git", "push", "-q", "origin", spec)
        assert (refused.code, "DENIED by" in refused.err) == (1, True), refused
    assert gitolite.hub.refs() == before


@pytest.mark.slow
def test_where_the_host_grants_only_branches_the_prefix_that_is_advised_works(
    gitolite: Gitolite, tmp_path: Path, env: dict[str, str]
) -> None:
    gitolite.rules("RW+ refs/heads/ = @all")
    env |= gitolite.reached_by("both")
    seed(tmp_path, env)
    pair = clones(tmp_path, env, "git@gitolite:hub", gitolite.hub)
    before = gitolite.hub.refs(), pair.alpha.refs(), pair.alpha.git("config", "--list", "--local")
    done = pair.alpha.coord("init", "--agent", "alpha")
    assert_one_line(done)
    assert (gitolite.hub.refs(), pair.alpha.refs(), pair.alpha.git("config", "--list", "--local")) == before
    pair.configure("coord.refPrefix", "refs/heads/coord")
    two_agents_work(pair)
    one_of_two_wins(pair)
