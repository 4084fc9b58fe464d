# SPDX-License-Identifier: MIT
"""The facts about the machine beside results."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from pirn_tools import machine


def test_first_line_is_a_dash_when_there_is_nothing_to_say() -> None:
    assert machine.first_line("sh", "-c", "echo one; echo two") == "one"
    assert machine.first_line("sh", "-c", "echo version >&2") == "version"
    for command in (("no-such-program",), ("true",), ("sh", "-c", "echo no >&2; exit 1")):
        assert machine.first_line(*command) == "-"


def test_cache_entry_is_read_from_the_build(tmp_path: Path) -> None:
    (tmp_path / "CMakeCache.txt").write_text("//x\nA_FLAGS:STRING=-O2 -g=3\nA:PATH=/x\n")
    assert machine.cache_entry(tmp_path, "A_FLAGS") == "-O2 -g=3"
    assert machine.cache_entry(tmp_path, "A") == "/x"
    assert machine.cache_entry(tmp_path, "FLAGS") == ""
    assert machine.cache_entry(tmp_path / "none", "A") == ""


def test_processor_says_how_many() -> None:
    assert machine.processor().endswith(" CPUs")


def git(root: Path, *words: str) -> str:
    line = ["git", "-C", root, "-c", "user.name=A", "-c", "user.email=a@example.com", *words]
    return subprocess.run(line, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A tree with a commit on main."""
    (tmp_path / "docs").mkdir()
    for name in ("code", "docs/page"):
        (tmp_path / name).write_text("1")
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "--message=first")
    return tmp_path


def test_a_commit_of_main_is_named(project: Path) -> None:
    first = git(project, "rev-parse", "--short", "HEAD")
    assert machine.commit(project) == first
    (project / "docs/page").write_text("2")  # results of an earlier command
    assert machine.commit(project) == first


def test_a_commit_that_a_rebase_may_replace_is_not_named(project: Path) -> None:
    first = git(project, "rev-parse", "--short", "HEAD")
    git(project, "checkout", "--quiet", "-b", "work")
    for number in (1, 2):
        git(project, "commit", "--quiet", "--allow-empty", "--message=more")
        plural = "" if number == 1 else "s"
        assert machine.commit(project) == f"{first} and {number} commit{plural} of a branch"


def test_changes_that_are_in_no_commit_are_said(project: Path) -> None:
    first = git(project, "rev-parse", "--short", "HEAD")
    (project / "code").write_text("2")
    assert machine.commit(project) == f"{first}, with changes that are in no commit"


def test_a_tree_without_main_has_a_commit(project: Path) -> None:
    git(project, "branch", "--move", "trunk")
    assert machine.commit(project) == git(project, "rev-parse", "--short", "HEAD")


def test_a_tree_that_git_does_not_know_has_no_commit(tmp_path: Path) -> None:
    assert machine.commit(tmp_path) == "-"
