"""Which files a command line writes, by the idioms that can be recognised, and what must not be taken for one."""

from __future__ import annotations

from pathlib import Path

import pytest

from git_coord.guard.edit_shell import targets

WRITES = [
    ("echo x > a.txt", ["a.txt"]),
    ("echo x >> 'a b.txt'", ["a b.txt"]),
    ('echo x >"a.txt" 2>&1', ["a.txt"]),
    ("echo x 2> err.log", ["err.log"]),
    ("echo x &> all.log", ["all.log"]),
    ("echo x >| a.txt", ["a.txt"]),
    ("cat <<EOF > a.txt\nrm b.txt\nEOF\ntouch c", ["a.txt", "c"]),
    ("cat <<-'END' | tee -a a.txt b.txt\n\tx > y\n\tEND", ["a.txt", "b.txt"]),
    ("sed -i s/a/b/ a.txt b.txt", ["a.txt", "b.txt"]),
    ('sed -i.bak -e s/a/b/ "a.txt"', ["a.txt"]),
    ("sed -ni '1p' a.txt", ["a.txt"]),
    ("sed --in-place=.orig 's/x/y/' a.txt", ["a.txt"]),
    ('sed -i "$script" a.txt', ["a.txt"]),
    ("perl -pi -e 's/a/b/' a.txt", ["a.txt"]),
    ("mv a.txt b.txt", ["a.txt", "b.txt"]),
    ("mv a.txt folder", ["a.txt", "folder/a.txt"]),
    ("mv -t folder a.txt b.txt", ["a.txt", "b.txt", "folder/a.txt", "folder/b.txt"]),
    ("cp -r src/a.txt folder/", ["folder/a.txt"]),
    ("cp a.txt b.txt", ["b.txt"]),
    ("rm -rf build a.txt", ["build", "a.txt"]),
    ("rm -- -dash", ["-dash"]),
    ("git checkout -- a.txt b.txt", ["a.txt", "b.txt"]),
    ("git checkout main -- a.txt", ["a.txt"]),
    ("git checkout folder", ["folder"]),
    ("git restore --source=HEAD~1 a.txt", ["a.txt"]),
    ("git restore --staged --worktree a.txt", ["a.txt"]),
    ("git rm -q a.txt", ["a.txt"]),
    ("git -C sub mv a b", ["sub/a", "sub/b"]),
    ("cd sub && echo x > a.txt", ["sub/a.txt"]),
    ("bash -c 'echo x > a.txt'", ["a.txt"]),
    ("sudo env X=1 tee a.txt", ["a.txt"]),
    ("X=1 Y=2 touch a.txt; true", ["a.txt"]),
    ("if true; then rm a.txt; fi", ["a.txt"]),
    ("echo $(rm a.txt) `touch b.txt`", ["a.txt", "b.txt"]),
    ("(cd x; rm y)", ["x/y"]),
    ("dd if=/dev/zero of=a.bin bs=1", ["a.bin"]),
    ("rm *.md", ["x.md", "y.md"]),
    ("sed -i s/a/b/ '*'.md ?.md", ["*.md", "x.md", "y.md"]),
    ("rm \\*.md [z]*", ["*.md", "[z]*"]),
    ("ln -sf a.txt link", ["link"]),
    ("sudo -u me -n rm a.txt", ["a.txt"]),
    ("timeout -k 5 10s nice -n 5 rm a.txt", ["a.txt"]),
    ("/usr/bin/env -u X Y=1 rm a.txt", ["a.txt"]),
    ("xargs -n 1 rm a.txt < list", ["a.txt"]),
    ("eval 'cd sub; rm' a.txt", ["sub/a.txt"]),
    ("until rm a.txt; do true; done", ["a.txt"]),
]
READS = [
    "cat a.txt",
    "grep 'rm a.txt' a.txt",
    "sed -n 1,5p a.txt",
    "sed s/a/b/ a.txt",
    "git diff a.txt",
    "git checkout main",
    "git restore --staged a.txt",
    "git rm --cached a.txt",
    "git log > /dev/null 2>&1",
    "echo 'x > a.txt'",
    'echo "rm a.txt; > a.txt"',
    "python -c 'open(\"a.txt\").read()'",
    "# rm a.txt",
    "cat < a.txt",
    "ls a.txt | wc -l",
    "rm $FILE",
    "rm {a,b}.txt",
    "timeout 5 grep rm a.txt",
    "sudo -u rm cat a.txt",
    "timeout",
    "eval",
    "echo x > $OUT",
    "",
    "'",
    '"$(',
    "echo \\",
    "<<",
    "cat <<EOF",
    ">",
    "git",
    "git -C",
    "mv",
    "sed -i",
    "bash -c",
    "$(" * 50,
]


@pytest.mark.parametrize(("line", "paths"), WRITES)
def test_a_command_that_writes_names_its_files(line: str, paths: list[str], tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    for name in ("x.md", "y.md"):
        (tmp_path / name).touch()
    assert [path for path, _ in targets(line, str(tmp_path))] == [str(tmp_path / path) for path in paths]


@pytest.mark.parametrize("line", READS)
def test_a_command_that_only_reads_or_cannot_be_told_names_nothing(line: str, tmp_path: Path) -> None:
    assert [path for path, _ in targets(line, str(tmp_path)) if path != "/dev/null"] == []


def test_what_is_moved_is_the_link_itself_and_what_is_written_is_its_target() -> None:
    assert targets("rm a; echo > b", "/x") == [("/x/a", True), ("/x/b", False)]


def test_a_pattern_that_comes_to_many_files_hides_none_of_them(tmp_path: Path) -> None:
    for number in range(1200):
        (tmp_path / f"{number:04}").touch()
    assert targets("rm *", str(tmp_path))[-1] == (str(tmp_path / "1199"), True)
