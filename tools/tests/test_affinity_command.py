# SPDX-License-Identifier: MIT
"""`pirn affinity`: what it passes on to pirn-kernel, for which a shell script stands here."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from pirn_tools import affinity, paths
from pirn_tools.cli import main

SCRIPT = """#!/bin/sh
echo "$#: $*"
echo "a sentence" >&2
exit 3
"""


def run(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pirn_tools", "affinity", *words],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )


def made(folder: Path, text: str = SCRIPT) -> str:
    program = folder / "pirn-kernel"
    program.write_text(text)
    program.chmod(0o755)
    return str(program)


@pytest.mark.parametrize(
    ("words", "passed"),
    [
        (("add", "mixer 0", "wave0"), "3: add mixer 0 wave0"),
        (("del", "12", "13"), "3: delete 12 13"),
        (("list",), "1: list"),
    ],
)
def test_affinity_passes_words_messages_and_status_on(
    tmp_path: Path, words: tuple[str, ...], passed: str
) -> None:
    result = run(*words, PIRN_KERNEL=made(tmp_path))
    assert result.stdout == f"{passed}\n"
    assert result.stderr == "a sentence\n"
    assert result.returncode == 3


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("add", "mixer0"), "Missing argument 'PRODUCER'"),
        (("list", "mixer0"), "unexpected extra argument"),
        (("delete", "1", "2"), 'no command "delete"; did you mean "del"? (valid: add, del, list)'),
    ],
)
def test_affinity_refuses_a_wrong_command_line(
    tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    result = run(*words, PIRN_KERNEL=made(tmp_path))
    assert result.returncode == 2
    assert message in result.stderr
    assert result.stdout == ""


def test_affinity_says_how_to_get_pirn_kernel_when_there_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(affinity.VARIABLE, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    for root in (tmp_path, None):  # a tree without its build; an installation
        monkeypatch.setattr(paths, "find_project", lambda root=root: root)
        result = CliRunner().invoke(main, ["affinity", "list"])
        assert result.exit_code == 1
        assert "pirn-kernel is neither built nor installed: run make kernel" in result.output


def test_affinity_finds_the_trees_pirn_kernel_before_an_installed_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "build" / "kernel" / "bin"
    folder.mkdir(parents=True)
    monkeypatch.delenv(affinity.VARIABLE, raising=False)
    monkeypatch.setattr(paths, "find_project", lambda: tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    installed = made(tmp_path)
    assert affinity.find() == installed
    assert affinity.find() != made(folder)
    assert affinity.find() == str(folder / "pirn-kernel")


@pytest.mark.parametrize(
    ("text", "status", "message"),
    [
        ("no program\n", 126, "Exec format error"),
        ("#!/no/such/shell\n", 126, "No such file"),
    ],
)
def test_affinity_says_it_when_pirn_kernel_cannot_run(
    tmp_path: Path, text: str, status: int, message: str
) -> None:
    result = run("list", PIRN_KERNEL=made(tmp_path, text))
    assert result.returncode == status, result
    assert f"cannot run {tmp_path}" in result.stderr
    assert message in result.stderr


def test_affinity_refuses_a_variable_that_names_no_program(tmp_path: Path) -> None:
    result = run("list", PIRN_KERNEL=str(tmp_path / "none"))
    assert result.returncode == 1
    assert result.stderr == f"Error: PIRN_KERNEL={tmp_path}/none: there is no such program\n"
