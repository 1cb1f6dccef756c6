"""What is typed is looked for: what exists is taken as it is, what is new is said, what cannot be meant is refused."""

from __future__ import annotations

import pytest

from tests.cli.words import said, type_in
from tests.helpers import Repo
from tests.helpers.waiter import Waiters

FILES = {
    "src/parser.py": "p\n",
    "src/lexer/scan.py": "s\n",
    "top.txt": "t\n",
    "README.md": "r\n",
    "app/[id].tsx": "i\n",
    "odd:name": "o\n",
    "star*.md": "s\n",
}


@pytest.fixture
def desk(alone: Repo) -> Repo:
    alone.commit("files", **FILES)
    return alone


@pytest.mark.parametrize("command", ["claim", "check", "preflight", "release", "takeover"])
@pytest.mark.parametrize(
    ("typed", "instead"),
    [
        ("src/*.py", "--glob 'src/*.py'"),
        ("tasks:X-1", "task:X-1"),
        ("TASK:X-1", "task:X-1"),
        ("taks:X-1", "task:X-1"),
        ("issue:12", "task:12"),
        ("branches:main", "branch:main"),
        ("PATH:new", "path:new"),
        ("glob:src/*.py", "--glob 'src/*.py'"),
        ("README.md:12", "README.md"),
        ("src/parser.py:12:7", "src/parser.py"),
        ("src/parser.py:12-20", "src/parser.py"),
        ("src/parser.py#L12", "src/parser.py"),
        ("HEAD:README.md", "README.md"),
        (":/top.txt", "top.txt"),
        (":(top)src/parser.py", "src/parser.py"),
        (":(glob)src/*.py", "--glob 'src/*.py'"),
        (":/src/*.py", "--glob 'src/*.py'"),
        ("src/parser.py:", "src/parser.py"),
        ("src\\parser.py", "src/parser.py"),
        ("notes:today", "path:notes:today"),
        ("src/parser.py/x", "src/parser.py"),
        ("src/parser.py/x/y.py", "src/parser.py"),
        ("a/src/parser.py", "src/parser.py"),
        ("top.txt,README.md", "top.txt README.md"),
        ("top.txt README.md", "top.txt README.md"),
        ("refs/heads/main", "branch:main"),
        (":!top.txt", "'path::!top.txt'"),
    ],
)
def test_what_looks_like_something_else_is_refused_with_the_command_that_is_right(
    desk: Repo, command: str, typed: str, instead: str
) -> None:
    done = desk.coord(command, typed)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"git coord: '{typed}' ".replace("\\", "\\\\")) or typed in done.err
    step = done.err.splitlines()[-1].removeprefix("next   ")
    assert step == f"git coord {command} {instead}"
    if command in ("claim", "check"):
        assert type_in(desk, step).code == 0


@pytest.mark.parametrize(
    ("typed", "trouble"),
    [
        (".git/config", "is git's own: nothing of that name is ever committed"),
        ("src/.GIT/x", "is git's own: nothing of that name is ever committed"),
        ("https://host.example/a", "is an address, not a path of this repository"),
        ("C:/work/a.py", "is a path of another system"),
    ],
)
def test_what_no_path_can_be_is_refused_also_when_it_is_said_to_be_one(desk: Repo, typed: str, trouble: str) -> None:
    assert said(desk.coord("claim", typed)) == (2, "", f"git coord: '{typed}' {trouble}\nnext   git coord claim -h\n")
    if ".git" in typed.lower():
        assert desk.coord("claim", f"path:{typed}").code == 2


@pytest.mark.parametrize(
    ("typed", "trouble", "instead"),
    [
        (["--glob", ".git/**"], "is git's own: nothing of that name is ever committed", "-h"),
        (["--glob", "**/.GIT/*"], "is git's own: nothing of that name is ever committed", "-h"),
        (["--glob", ":/src/*.py"], "is a pathspec of git", "--glob 'src/*.py'"),
        (["--glob", ":/top.txt"], "is a pathspec of git", "top.txt"),
        (["--glob", "short/*.py"], "is below short, a link", "--glob 'src/*.py'"),
        (["--glob", "--local", "src/*.py"], "is an option, and no pattern", "--local --glob 'src/*.py'"),
        (
            ["--glob", "--local", "src/*.py", "top.txt"],
            "is an option, and no pattern",
            "top.txt --local --glob 'src/*.py'",
        ),
    ],
)
def test_a_pattern_that_cannot_be_meant_is_refused_with_the_command_that_is_right(
    desk: Repo, typed: list[str], trouble: str, instead: str
) -> None:
    (desk.path / "short").symlink_to("src")
    done = desk.coord("check", *typed)
    assert (done.code, done.out) == (2, "")
    assert trouble in done.err
    step = done.err.splitlines()[-1].removeprefix("next   ")
    assert step == f"git coord check {instead}"
    assert type_in(desk, step).code == 0


def test_an_option_behind_glob_is_no_pattern(desk: Repo) -> None:
    done = desk.coord("claim", "--glob", "--read", "src/**")
    assert (
        done.err == "git coord: '--read' is an option, and no pattern\nnext   git coord claim --read --glob 'src/**'\n"
    )
    assert type_in(desk, "git coord claim --read --glob 'src/**'").code == 0


def test_a_pattern_that_matches_nothing_yet_is_marked_with_the_nearest_folder(desk: Repo) -> None:
    patterns = ["srcc/*.py", "src/*.py", "src/**/*.py", "src/*.rs", "*.md", "src/*/scan.py"]
    done = desk.coord("claim", *(word for pattern in patterns for word in ("--glob", pattern)))
    assert said(done)[1].splitlines()[1:] == [
        "  edit   srcc/*.py   matches nothing yet; did you mean src/*.py?",
        "  edit   src/*.py",
        "  edit   src/**/*.py",
        "  edit   src/*.rs   matches nothing yet",
        "  edit   *.md",
        "  edit   src/*/scan.py",
    ]
    assert desk.coord_json("check", "--glob", "libs/**")["new"] == [{"path": "libs/**", "similar": None}]
    assert desk.coord_json("release", "--glob", "srcc/*.py")["confirmed"] is True


def test_the_whole_command_is_named_with_what_was_right(desk: Repo) -> None:
    done = desk.coord("claim", "--read", "top.txt", "tasks:X-1", "README.md", "--glob", "docs/*.md")
    step = done.err.splitlines()[-1].removeprefix("next   ")
    assert step == "git coord claim --read top.txt task:X-1 README.md --glob 'docs/*.md'"
    assert type_in(desk, step).code == 0


def test_names_that_exist_are_taken_as_they_are_and_path_says_that_a_new_one_is_meant(desk: Repo) -> None:
    names = ["app/[id].tsx", "odd:name", "star*.md", "path:src/*.new", "path:a:b", "./c:d", "app/[slug].tsx"]
    answer = desk.coord_json("claim", *names)
    assert [item["path"] for item in answer["items"]] == [
        name.removeprefix("path:").removeprefix("./") for name in names
    ]
    assert [row["path"] for row in answer["new"]] == ["src/*.new", "a:b", "c:d", "app/[slug].tsx"]
    assert [row["status"] for row in desk.coord_json("check", "a:b", "src/*.new", "odd:name")["resources"]] == [
        "mine"
    ] * 3
    assert desk.coord_json("release", "a:b", "src/*.new")["confirmed"] is True


def test_a_new_name_is_marked_with_the_nearest_that_exists(desk: Repo) -> None:
    done = desk.coord(
        "claim", "src/paser.py", "readme.md", "scr/parser.py", "src/scan.py", "src/brand_new.py", "top.txt"
    )
    assert said(done)[:2] == (
        0,
        "#1  yours until <time>, longer while you are alive\n"
        "  edit   src/paser.py   new; did you mean src/parser.py?\n"
        "  edit   readme.md   new; did you mean README.md?\n"
        "  edit   scr/parser.py   new; did you mean src/parser.py?\n"
        "  edit   src/scan.py   new; did you mean src/lexer/scan.py?\n"
        "  edit   src/brand_new.py   new\n"
        "  edit   top.txt\n",
    )
    assert desk.coord_json("check", "src/lexr", "src/paser.py")["new"] == [{"path": "src/lexr", "similar": "src/lexer"}]


@pytest.mark.parametrize("names", [("step1.py", "step2.py"), ("a.txt", "b.txt"), ("test_one.py", "test_two.py")])
def test_the_next_of_a_row_is_no_typing_error(alone: Repo, names: tuple[str, str]) -> None:
    alone.commit("first of a row", **{names[0]: "x\n"})
    assert alone.coord_json("claim", names[1])["new"] == [{"path": names[1], "similar": None}]


def test_what_is_tracked_and_gone_from_the_worktree_is_not_new(desk: Repo) -> None:
    (desk.path / "top.txt").unlink()
    assert desk.coord_json("claim", "top.txt")["new"] == []


def test_from_below_the_step_is_spelled_from_there(desk: Repo) -> None:
    below = Repo(desk.path / "src", desk.env)
    done = below.coord("claim", ":/top.txt")
    assert done.err.splitlines()[-1] == "next   git coord claim ../top.txt"
    assert below.coord_json("claim", "../top.txt", "parser.py")["new"] == []


def test_a_path_in_a_submodule_is_that_repositorys(desk: Repo) -> None:
    other = Repo(desk.path.parent / "other", desk.env)
    desk.run("git", "init", "-q", "-b", "main", str(other.path), check=True)
    other.commit("inner", **{"x.c": "x\n"})
    desk.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other.path), "sub")
    desk.git("commit", "-qm", "a submodule")
    text = "git coord: 'sub/x.c' is in sub, a repository of its own\nnext   git -C sub coord claim x.c\n"
    assert said(desk.coord("claim", "sub/x.c")) == (2, "", text)
    assert said(desk.coord("check", "sub/new.c"))[0] == 2
    text = "git coord: 'sub/**' is in sub, a repository of its own\nnext   git -C sub coord claim --glob '**'\n"
    assert said(desk.coord("claim", "--glob", "sub/**")) == (2, "", text)
    assert desk.coord_json("claim", "sub")["new"] == []
    desk.git("submodule", "deinit", "-q", "-f", "sub")
    done = desk.coord("claim", "sub/x.c")
    assert done.err.splitlines()[-1] == "next   git submodule update --init sub"
    assert desk.coord("claim", "--glob", "sub/*.c").err.splitlines()[-1] == "next   git submodule update --init sub"


def test_a_path_behind_a_link_is_named_as_git_has_it(desk: Repo) -> None:
    (desk.path / "short").symlink_to("src")
    (desk.path / "out").symlink_to(desk.path.parent)
    text = "git coord: 'short/parser.py' is below short, a link\nnext   git coord claim src/parser.py\n"
    assert said(desk.coord("claim", "short/parser.py")) == (2, "", text)
    assert desk.coord("claim", "out/x").code == 2
    assert desk.coord_json("claim", "short")["items"][0]["path"] == "short"


def test_beside_a_glob_a_new_path_is_a_file_unless_it_is_said_to_be_a_folder(pair: tuple[Repo, Repo]) -> None:
    alpha, beta = pair
    alpha.commit("a folder", **{"d/old.py": "x\n", "d/q.sql": "x\n"})
    alpha.git("push", "-q", "origin", "HEAD:main")
    beta.git("pull", "-q", "origin", "main")
    alpha.coord_json("claim", "--glob", "d/**/*.sql")
    names = ["d/new.py", "d/old.py", "d/new.sql", "d/q.sql", "d/sub", "d/other/", "d", "."]
    asked = beta.coord_json("check", *names, code=3)["resources"]
    assert [row["status"] for row in asked] == ["free", "free", "held", "held", "free", *["held"] * 3]
    assert beta.coord_json("check", "d/sub", "d/sub/", code=3)["resources"][0]["status"] == "held"
    for name, row in zip(names, asked, strict=True):
        free = row["status"] == "free"
        assert beta.coord("preflight", name).code == (0 if free else 3), name
        assert beta.coord("claim", name).code == (0 if free else 3), name
    assert beta.coord("hooks", "install").code == 0
    beta.commit("mine", **{"d/new.py": "1\n", "d/sub": "2\n"})
    beta.write("d/r.sql", "x\n")
    beta.git("add", "-A")
    assert beta.run("git", "commit", "-qm", "theirs").code == 1


def test_who_is_in_the_queue_keeps_newcomers_off_at_the_commit_as_at_the_claim(alone: Repo, start: Waiters) -> None:
    beta, gamma = (alone.with_env(GIT_COORD_AGENT=name) for name in ("beta", "gamma"))
    for repo in (beta, gamma):
        repo.coord_json("init")
    alone.coord_json("claim", "q")
    waiter = start(beta, "q", "p", "--wait", "10m")
    assert gamma.coord_json("check", "p", code=3)["resources"][0]["status"] == "held"
    assert gamma.coord_json("claim", "p", code=3)["waiting"] is True
    gamma.coord("hooks", "install")
    gamma.write("p", "x\n")
    gamma.git("add", "p")
    done = gamma.run("git", "commit", "-qm", "in between")
    assert done.code == 1
    assert "p   beta waiting   -   until" in done.err
    alone.git("commit", "-qm", "its holder is not kept off")
    waiter.stop()
