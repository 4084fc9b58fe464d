# SPDX-License-Identifier: MIT
"""The check of commit messages, on small repositories."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import commits
import pytest

CHECK = Path(commits.__file__)


def git(root: Path, *arguments: str) -> None:
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", "-C", str(root), *who, *arguments], check=True, capture_output=True)


def commit(root: Path, name: str, *message: str) -> None:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text("\n".join(message) + str(len(list(root.iterdir()))))
    git(root, "add", name)
    git(root, "commit", *(word for part in message for word in ("-m", part)))


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    root.mkdir()
    git(root, "init", "-q")
    commit(root, "old.c", "x" * 100)
    git(root, "tag", "v1")
    return root


def run(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(CHECK), "--root", str(root), *arguments],
        capture_output=True,
        text=True,
        check=False,
    )


def test_commits_are_silent_when_messages_are_good(tree: Path) -> None:
    commit(tree, "a.c", "core: take half", "Why.")
    commit(tree, "page.md", "docs: plainer")
    assert (run(tree).returncode, run(tree).stdout) == (0, "check commits: ok\n")


def test_commits_complain_about_each_fault_since_the_tag(tree: Path) -> None:
    commit(tree, "a.c", "core: no reason")
    commit(tree, "page.md", "y" * 73)
    commit(tree, "Makefile", "build: no reason")
    done = run(tree)
    assert done.returncode == 1
    assert done.stderr.count("has no body") == 2
    assert "a subject of 73 characters" in done.stderr
    assert "xxx" not in done.stderr


def test_commits_begin_where_the_option_says(tree: Path) -> None:
    commit(tree, "a.c", "core: no reason")
    assert run(tree, "--since", "HEAD").returncode == 0
    done = run(tree, "--since", "nowhere")
    assert (done.returncode, "no such revision" in done.stderr) == (1, True)


def test_commits_say_why_they_skip(tree: Path, tmp_path: Path) -> None:
    archive = tmp_path / "archive"
    archive.mkdir()
    assert "skipped, no git history" in run(archive).stdout
    shallow = tmp_path / "shallow"
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{tree}", str(shallow))
    assert "skipped, a shallow clone" in run(shallow).stdout
    git(tree, "tag", "-d", "v1")
    done = run(tree)
    assert (done.returncode, done.stdout) == (0, "check commits: skipped, no tag\n")


def test_commits_begin_after_the_check_when_there_is_no_tag(tree: Path) -> None:
    commit(tree, "a.c", "core: before the check, without a body")
    commit(tree, "tools/checks/commits.py", "checks: of commits", "This file.")
    git(tree, "tag", "-d", "v1")
    assert run(tree).returncode == 0
    commit(tree, "b.c", "core: after it, without a body")
    done = run(tree)
    assert (done.returncode, done.stderr.count("has no body")) == (1, 1)
