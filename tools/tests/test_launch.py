# SPDX-License-Identifier: MIT
"""Common to commands that start a program."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from pirn_tools import launch, outputs
from pirn_tools.binary import target
from pirn_tools.binary.linked import find_program
from pirn_tools.binary.target import Entry, Target
from pirn_tools.describe import Description
from pirn_tools.errors import UserError


@pytest.fixture
def command(description: Description, monkeypatch: pytest.MonkeyPatch) -> click.Command:
    """A command like those that record; it says what it was given."""
    monkeypatch.setattr(launch, "load", lambda: description)

    @launch.command(left_out=("detour",))
    @click.option("-o", "--output", default="file")
    @click.option("--twice", is_flag=True)
    @launch.program
    def record(output: str, twice: bool, **given: object) -> None:
        click.echo((output, twice, given["program"], given["args"], given["preload"]))
        click.echo({name: value for name, value in given.items() if name.startswith("option_")})

    return record


def test_options_end_where_the_program_begins(command: click.Command) -> None:
    words = ["--stats", "-o", "x", "--cpus", "2", "--twice", "--preload", "prog", "--stats", "-o"]
    said = CliRunner().invoke(command, words).output.splitlines()
    assert said[0] == "('x', True, 'prog', ('--stats', '-o'), True)"
    assert "'option_stats': 'text'" in said[1]
    assert "'option_cpus': '2'" in said[1]


def test_option_is_unknown_when_it_is_left_out(command: click.Command) -> None:
    assert "option_detour" not in CliRunner().invoke(command, ["prog"]).output
    refused = CliRunner().invoke(command, ["--detour", "prog"])
    assert refused.exit_code == 2
    assert "No such option" in refused.output


def started(code: str) -> launch.Launch:
    return launch.Launch(Path(sys.executable), ("python", "-c", code), dict(os.environ))


def test_wait_gives_the_exit_status_of_a_shell() -> None:
    assert started("import os; os._exit(7)").wait() == 7
    assert started("import os; os.abort()").wait() == 128 + signal.SIGABRT
    other = started("import os; os._exit(os.environ['X'] == '2' and 'PATH' in os.environ)")
    assert other.with_settings({"X": "2"}).wait() == 1


def test_program_of_this_folder_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    program = tmp_path / "prog"
    program.write_text("#!/bin/sh\nexit 5\n")
    program.chmod(0o755)
    path = find_program("./prog")
    assert launch.Launch(path, ("./prog",), dict(os.environ)).wait() == 5


def test_wait_is_refused_when_the_system_cannot_run_it(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot run prog: Permission denied"):
        launch.Launch(tmp_path, ("prog",), {}).wait()


def test_outputs_are_the_files_that_are_new_or_changed(tmp_path: Path) -> None:
    name = str(tmp_path / "run.%p.x")
    for kept in ("run.1.x", "run.2.x", "run.a.x"):
        (tmp_path / kept).touch()
    before = outputs.existing(name)
    (tmp_path / "run.2.x").unlink()
    assert outputs.written(name, before) == []
    (tmp_path / "run.3.x").touch()
    (tmp_path / "run.b.x").touch()
    os.utime(tmp_path / "run.1.x", ns=(1, 1))
    assert outputs.written(name, before) == [tmp_path / "run.1.x", tmp_path / "run.3.x"]


def linked_in(monkeypatch: pytest.MonkeyPatch, folder: Path | None) -> None:
    """All programs count as linked with a library of that folder."""
    path = Path("/bin/true")
    found = Target(path, (path,), Entry.LINKED, None)
    monkeypatch.setattr(target, "find", lambda *_: found)
    monkeypatch.setattr(launch, "folder_of_library", lambda _: folder)


@pytest.mark.parametrize("folder", ["/with:colon", "/with;semicolon", "/with$ORIGIN"])
def test_prepare_is_refused_when_the_linker_cannot_read_the_folder(
    folder: str, description: Description, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launch, "load", lambda: description)
    linked_in(monkeypatch, Path(folder))
    with pytest.raises(UserError, match="LD_LIBRARY_PATH cannot hold"):
        launch.prepare("true", (), preload=False)
    linked_in(monkeypatch, Path("/with space"))
    made = launch.prepare("true", (), preload=False)
    assert made.environment["LD_LIBRARY_PATH"].split(":")[0] == "/with space"


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ({}, "passive"),
        ({"OMP_WAIT_POLICY": "active"}, "active"),
        ({"GOMP_SPINCOUNT": "100"}, None),
        ({"KMP_BLOCKTIME": "5"}, None),
    ],
)
def test_openmp_waits_without_spinning_unless_the_user_says_how(
    given: dict[str, str],
    made: str | None,
    description: Description,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(launch, "load", lambda: description)
    linked_in(monkeypatch, None)
    for name in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME", "KMP_LIBRARY"):
        monkeypatch.delenv(name, raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    launched = launch.prepare("true", (), preload=False)
    assert launched.environment.get("OMP_WAIT_POLICY") == made
