# SPDX-License-Identifier: MIT
"""Boards of a user's folder, which a command runs programs on: here one of this computer."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import loopback
import pytest
from loopback import DESCRIPTION, NAME, STREAM, board, pirn, program

from pirn_tools.board import boards
from pirn_tools.errors import UserError


@pytest.fixture
def place(tmp_path: Path) -> Path:
    runner = loopback.script(tmp_path)
    return board(
        tmp_path, f'command = ["{runner}", "{{program}}", "{{cpus}}", "{{env}}", "{{args}}"]'
    )


def test_run_passes_on_words_outputs_and_status(tmp_path: Path, place: Path) -> None:
    text = 'echo "$cpus:$#:$1:$2:$3"; echo wrong >&2; exit 42'
    path = program(tmp_path / "a.elf", text)
    done = pirn(
        *("board", "run", "--boards", place, "--cpus", 3, "--env", "A=b c"),
        *(NAME, path, "one two", "--three"),
        cwd=tmp_path,
    )
    assert (done.returncode, done.stdout, done.stderr) == (
        42,
        "3:3:A=b c:one two:--three\n",
        "wrong\n",
    )


def test_boards_of_the_environment_and_their_default_number_of_cpus(
    tmp_path: Path, place: Path
) -> None:
    path = program(tmp_path / "a.elf", 'echo "$cpus:$*"')
    done = pirn("board", "run", NAME, path, cwd=tmp_path, PIRN_BOARDS=str(place), PIRN_SCHED="dist")
    assert done.stdout == "2:PIRN_SCHED=dist\n"
    listed = pirn("board", "list", cwd=tmp_path, PIRN_BOARDS=str(place), COLUMNS="120")
    assert "a command of this computer" in listed.stdout
    assert "riscv64-virt" in listed.stdout


def test_the_program_may_be_the_input(tmp_path: Path) -> None:
    runner = loopback.script(tmp_path, STREAM)
    place = board(tmp_path, f'command = ["{runner}"]\ninput = "program"')
    path = program(tmp_path / "a.elf", "echo came; exit 3")
    done = pirn("board", "run", "--boards", place, NAME, path, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (3, "came\n")


def test_a_shell_finds_the_words(tmp_path: Path) -> None:
    place = board(tmp_path, 'command = ["sh", "-c", "printf \'<%s>\' {words}"]')
    path = program(tmp_path / "a b.elf", "")
    done = pirn(
        *("board", "run", "--boards", place, "--env", "X=$Y", NAME, path, "it's", "*"), cwd=tmp_path
    )
    assert done.stdout == f"<X=$Y><{path}><it's><*>"


def test_the_time_is_up(tmp_path: Path, place: Path) -> None:
    mark = tmp_path / "ended"
    text = f"trap 'touch {mark}; exit' TERM\necho begun\nwhile :; do sleep 0.1; done"
    path = program(tmp_path / "a.elf", text)
    done = pirn("board", "run", "--boards", place, "--timeout", 4, NAME, path, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (124, "begun\n")
    assert f"pirn: no end after 4 s: {tmp_path / 'run-on-board'} was stopped" in done.stderr
    assert mark.exists()


def test_addresses_are_left_alone_where_there_are_no_symbols(tmp_path: Path, place: Path) -> None:
    path = program(tmp_path / "a.elf", "echo 'pirn: at 0x80000000'")
    done = pirn("board", "run", "--boards", place, NAME, path, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "pirn: at 0x80000000\n")


def test_a_board_like_another_has_its_programs(tmp_path: Path) -> None:
    text = 'like = "riscv64-virt"\ndescription = "in the cellar"'
    place = board(tmp_path, 'command = ["true"]', text, "cellar")
    shown = pirn("board", "info", "--boards", place, "cellar", cwd=tmp_path).stdout
    for line in ("cellar: in the cellar", "programs   those of riscv64-virt", "machine    true"):
        assert line in shown
    places = boards.folders([place])
    found, other = (boards.find(places, name) for name in ("cellar", "riscv64-virt"))
    assert found.package == other.package
    assert found.cpus_most == other.cpus_most
    assert found.qemu == ""


@pytest.mark.parametrize(
    ("text", "runner", "said"),
    [
        (DESCRIPTION, "command = []", "runner: command is to be a list of words"),
        (DESCRIPTION, 'command = "ssh"', "runner: command is to be a list of words"),
        (
            DESCRIPTION,
            'comand = ["a"]',
            "runner: unknown: comand (valid: command, input, packages)",
        ),
        (DESCRIPTION, 'input = "program"', "'command' is missing"),
        (DESCRIPTION, 'command = ["a"]\ninput = "file"', 'input "file" (valid: console, program)'),
        (f"{DESCRIPTION}\n[qemu]\n", 'command = ["a"]', "either qemu or runner is valid, not both"),
        ('like = "loop"', 'command = ["a"]', '"loop" is itself like another board'),
        ('like = "riscv-virt"', 'command = ["a"]', 'did you mean "riscv64-virt"?'),
        ('like = "riscv64-virt"\nlik = 1', 'command = ["a"]', "unknown: lik (valid: "),
    ],
)
def test_a_wrong_description_is_named(tmp_path: Path, text: str, runner: str, said: str) -> None:
    place = board(tmp_path, runner, text)
    with pytest.raises(UserError) as caught:
        boards.find(boards.folders([place]), NAME)
    assert str(place / NAME / boards.FILE) in caught.value.message
    assert said in caught.value.message


@pytest.mark.parametrize(
    ("command", "arguments", "said"),
    [
        ('["a-{programm}"]', [], '"a-{programm}": {programm} (valid: {program}, '),
        ('["run", "x={args}"]', [], '"x={args}": {args} is to be a word by itself'),
        ('["no-such-command"]', [], "is run by no-such-command, which is not there"),
        ('["true"]', ["--icount"], f"--icount: {NAME} is run by true, not by QEMU"),
        ('["true"]', ["--gdb"], f"--gdb: {NAME} is run by true, not by QEMU"),
        ('["true"]', ["--with", "-v"], f"--with -v: {NAME} takes no options: its command"),
        ('["true", "x{options}"]', [], '"x{options}": {options} is to be a word by itself'),
        ('["true"]', ["--cpus", "5"], f"--cpus 5: {NAME} has 1 to 4"),
        ('["true"]', ["--boards", "nowhere"], "--boards nowhere: no such folder"),
        ('["true"]', ["--trace", "off"], 'a file cannot be called "off"'),
        ('["true"]', ["--prof", "no/x"], "--prof no/x: there is no folder no"),
    ],
)
def test_run_says_what_is_wrong(
    tmp_path: Path, command: str, arguments: list[str], said: str
) -> None:
    place = board(tmp_path, f"command = {command}")
    path = program(tmp_path / "a.elf", "")
    done = pirn("board", "run", "--boards", place, *arguments, NAME, path, cwd=tmp_path)
    assert done.returncode in (1, 2)
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_folder_of_the_environment_that_is_not_there_is_named(tmp_path: Path) -> None:
    done = pirn("board", "list", cwd=tmp_path, PIRN_BOARDS="nowhere")
    assert (done.returncode, done.stderr) == (2, "Error: PIRN_BOARDS nowhere: no such folder\n")


@pytest.mark.parametrize(("kind", "word"), [("trace", "trace"), ("prof", "profile")])
def test_what_is_not_written_is_missed(tmp_path: Path, place: Path, kind: str, word: str) -> None:
    (tmp_path / "old").write_text("from yesterday")
    path = program(tmp_path / "a.elf", f'test "$1" = PIRN_{kind.upper()}=old')
    done = pirn("board", "run", "--boards", place, f"--{kind}", "old", NAME, path, cwd=tmp_path)
    assert done.returncode == 1
    assert f"has written no {word} to old (exit status 0)" in done.stderr
    assert (tmp_path / "old").read_text() == "from yesterday"


def test_a_broken_trace_is_an_error(tmp_path: Path, place: Path) -> None:
    path = program(tmp_path / "a.elf", "echo nothing >new; exit 5")
    done = pirn("board", "run", "--boards", place, "--trace", "new", NAME, path, cwd=tmp_path)
    assert done.returncode == 5
    assert "new" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_command_ends_with_us(tmp_path: Path, place: Path) -> None:
    mark = tmp_path / "ended"
    text = f"trap 'touch {mark}; exit' TERM\necho begun\nwhile :; do sleep 0.1; done"
    path = program(tmp_path / "a.elf", text)
    line = ["board", "run", "--boards", str(place), NAME, str(path)]
    started = subprocess.Popen(
        [sys.executable, "-m", "pirn_tools", *line],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert started.stdout is not None
    assert started.stdout.readline() == b"begun\n"
    started.terminate()
    assert started.wait() == 143
    started.stdout.close()
    while not mark.exists():  # without a limit but the test's own: the machine may be slow
        time.sleep(0.05)


def test_options_of_the_runner_are_words_of_its_command(tmp_path: Path) -> None:
    place = board(tmp_path, 'command = ["echo", "{options}", "{program}"]')
    path = program(tmp_path / "a.elf", "")
    words = ("--with", "--fast", "--with", "a b")
    done = pirn("board", "run", "--boards", place, *words, NAME, path, cwd=tmp_path)
    assert done.stdout == f"--fast a b {path}\n"
