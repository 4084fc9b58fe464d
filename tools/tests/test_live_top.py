# SPDX-License-Identifier: MIT
"""`pirn top`: on a pseudo-terminal, and in batch mode."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from io import FileIO
from types import SimpleNamespace
from typing import cast

import live
import pytest
from live import command, needs_programs, pirn, program

from pirn_tools.live import tables
from pirn_tools.live.top import Keyboard, View


class Screen:
    """A terminal that somebody sits at."""

    def __init__(self, *words: object, rows: int = 24, columns: int = 120) -> None:
        self.master, self.slave = pty.openpty()
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("4H", rows, columns, 0, 0))
        self.before = termios.tcgetattr(self.slave)
        self.text = ""

        def takes_terminal() -> None:
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        self.process = subprocess.Popen(
            command(*words),
            stdin=self.slave,
            stdout=self.slave,
            stderr=self.slave,
            start_new_session=True,
            preexec_fn=takes_terminal,
            env={**os.environ, "TERM": "xterm", "COLUMNS": "", "LINES": ""},
        )

    def press(self, keys: str) -> None:
        os.write(self.master, keys.encode())

    def _read(self, seconds: float) -> bool:
        ready, _, _ = select.select([self.master], [], [], seconds)
        if ready:
            self.text += os.read(self.master, 65536).decode(errors="replace")
        return bool(ready)

    def wait_for(self, pattern: str) -> None:
        """On the screen, from now on."""
        self.text = ""
        end = time.monotonic() + live.LIMIT
        while not re.search(pattern, self._seen()):
            assert time.monotonic() < end, self._seen()
            self._read(0.1)

    def _seen(self) -> str:
        """The last two screens or so, without colours."""
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", self.text[-16384:])

    def ends(self) -> int:
        """The exit status; what is still written is read."""
        end = time.monotonic() + live.LIMIT
        while self.process.poll() is None:
            assert time.monotonic() < end
            self._read(0.1)
        while self._read(0):
            pass
        assert termios.tcgetattr(self.slave) == self.before
        assert self.text.rfind("\x1b[?1049l") > self.text.rfind("\x1b[?1049h")
        return self.process.returncode


@contextmanager
def top(*words: object, rows: int = 24, columns: int = 120) -> Iterator[Screen]:
    screen = Screen("top", "-d", 0.1, *words, rows=rows, columns=columns)
    try:
        yield screen
    finally:
        screen.process.kill()
        screen.process.wait()
        os.close(screen.master)
        os.close(screen.slave)


@needs_programs
def test_top_shows_threads_and_quits_by_key() -> None:
    with program("waits", "run") as process, top("-p", process.pid) as screen:
        screen.wait_for(r'(?s)Switches/s.*"runs".*Id.*takes-a.*1-9 of 9 by State')
        screen.press("q")
        assert screen.ends() == 0


@needs_programs
def test_top_quits_when_it_is_interrupted() -> None:
    with program("waits") as process, top("-p", process.pid) as screen:
        screen.wait_for("by State")
        screen.press("\x03")
        assert screen.ends() == 0
        assert "Traceback" not in screen.text


@needs_programs
def test_top_quits_when_the_program_ends() -> None:
    with program("waits") as process, top("-p", process.pid) as screen:
        screen.wait_for("by State")
        process.kill()
        process.wait()
        assert screen.ends() == 0
        assert f"process {process.pid} has ended" in screen.text


@needs_programs
def test_top_restores_the_terminal_when_it_is_terminated() -> None:
    with program("waits") as process, top("-p", process.pid) as screen:
        screen.wait_for("by State")
        screen.process.terminate()
        assert screen.ends() == 128 + 15


@needs_programs
def test_top_sorts_and_scrolls_when_keys_say_so() -> None:
    with program("waits", 200) as process, top("-p", process.pid, "--sort", "id") as screen:
        screen.wait_for(r"1-(\d+) of 208 by Id ")
        screen.press("n")
        screen.wait_for(r"(?s)live-waits.*on-cond.*1-\d+ of 208 by Name ")
        screen.press(">")
        screen.wait_for("1-.* of 208 by Class ")
        screen.press("<r")
        screen.wait_for("(?s)takes-b.*takes-a.*1-.* of 208 by Name, reversed")
        screen.press("\x1b[6~")
        screen.wait_for(r"(?s)one-of-many.*\b18-34 of 208")
        screen.press("\x1b[1~")
        screen.wait_for(r"\b1-17 of 208")
        screen.press("q")
        assert screen.ends() == 0


@needs_programs
def test_top_fits_the_screen_when_it_is_small() -> None:
    with (
        program("waits", 50, PIRN_CPUS="8") as process,
        top("-p", process.pid, rows=12, columns=50) as screen,
    ):
        screen.wait_for(r"and 4 CPUs more")
        screen.wait_for(r"1-2 of 58")
        screen.press("q")
        assert screen.ends() == 0


@needs_programs
def test_top_prints_so_many_times_when_asked() -> None:
    with program("waits", "run", "clock") as process:
        said = pirn("top", "-p", process.pid, "-d", 0.2, "-n", 2)
    assert said.returncode == 0, said.stderr
    assert said.stdout.count("policy steal: 9 threads") == 2
    assert "\x1b" not in said.stdout
    # A running thread has some of a CPU (how much depends on the machine), a waiting one nothing.
    shares = dict.fromkeys(("runs", "on-sem"), 0)
    for name, share in re.findall(r"(runs|on-sem) +OTHER 10 +\w+ +[01] +(\d+)%", said.stdout):
        shares[name] = max(shares[name], int(share))
    assert shares["runs"] > shares["on-sem"] == 0


@needs_programs
def test_top_batch_ends_when_the_program_does() -> None:
    with program("waits") as process:
        words = command("top", "-p", process.pid, "-d", 0.1, "-n", 10000)
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as looker:
            assert looker.stdout is not None
            assert looker.stdout.readline().startswith(b"live-waits")
            process.kill()
            process.wait()
            _, error = looker.communicate(timeout=live.LIMIT)
            assert looker.returncode == 0
            assert b"has ended" in error


@needs_programs
def test_top_is_refused_when_there_is_no_terminal() -> None:
    with program("waits") as process:
        said = pirn("top", "-p", process.pid)
    assert said.returncode == 2
    assert "with -n COUNT the tables are printed" in said.stderr


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[FileIO, Keyboard]]:
    """The other side of a keyboard, and the keyboard."""
    master, slave = pty.openpty()
    with os.fdopen(slave, "r") as stream, FileIO(master, "w") as other:
        monkeypatch.setattr("sys.stdin", stream)
        with Keyboard() as keys:
            yield other, keys


@pytest.mark.parametrize(
    ("raw", "names"),
    [
        (b"q", ["q"]),
        (b"r\x1b[A\x1b[6~n", ["r", "up", "page down", "n"]),
        (b"\x1bOB\x1b[H\x1b[1~\x1b[C<", ["down", "home", "home", ">", "<"]),
        (b"\x1b[5~\x1b[D", ["page up", "<"]),
        (b"\x1br", ["escape", "r"]),
        (b"\x1b[1;5Ar", ["c-up", "r"]),
    ],
)
def test_keys_are_distinguished(
    typed: tuple[FileIO, Keyboard], raw: bytes, names: list[str]
) -> None:
    other, keys = typed
    other.write(raw)
    assert [keys.wait(live.LIMIT) for _ in names] == names
    assert keys.wait(0) is None


def test_a_key_that_comes_in_two_pieces_is_one(typed: tuple[FileIO, Keyboard]) -> None:
    """As over a slow connection."""
    other, keys = typed
    other.write(b"\x1b")
    assert keys.wait(0.01) is None
    other.write(b"[A")
    assert keys.wait(live.LIMIT) == "up"


def test_a_terminal_that_has_gone_says_q(typed: tuple[FileIO, Keyboard]) -> None:
    other, keys = typed
    other.close()
    assert keys.wait(live.LIMIT) == "q"


def test_view_moves_by_keys() -> None:
    view = View(0, page=10)
    for key in ("page down", "down", "up", "r", ">", "?"):
        view.press(key)
    assert (view.first, view.reverse, view.column) == (10, True, 1)
    for key in ("home", "<", "<"):
        view.press(key)
    assert (view.first, view.column) == (0, 7)


def test_lines_stay_short_when_a_name_is_long() -> None:
    columns = [
        tables.Column("Id", "i", lambda r: r.thread.id, lambda r: ()),
        tables.Column("Name", "n", lambda r: r.thread.name, lambda r: ()),
        tables.Column("Waits for", "w", lambda r: "x", lambda r: ()),
    ]
    names = ("short", "n" * 16, "n" * 17, "\u5bbd" * 9)
    threads = [
        SimpleNamespace(id=f"{10**at}.0", name=name, state="ready") for at, name in enumerate(names)
    ]
    rows = [cast("tables.Row", SimpleNamespace(thread=thread)) for thread in threads]
    assert tables.threads_text(rows, columns).plain.split("\n") == [
        "    Id  Name              Waits for",
        "   1.0  short             x",
        "  10.0  nnnnnnnnnnnnnnnn  x",
        " 100.0  nnnnnnnnnnnnnnn\u2026  x",
        "1000.0  " + "\u5bbd" * 7 + " \u2026  x",
    ]
