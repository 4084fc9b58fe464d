# SPDX-License-Identifier: MIT
"""`pirn top`: workers and threads of a running program, again and again."""

from __future__ import annotations

import select
import signal
import sys
import termios
import time
import tty
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from types import FrameType, TracebackType

import click
from prompt_toolkit.input.vt100 import Vt100Input
from prompt_toolkit.key_binding.key_processor import KeyPress
from prompt_toolkit.keys import Keys
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from pirn_tools.live import tables
from pirn_tools.live.process import EndedError
from pirn_tools.live.snapshot import Runtime, Snapshot

FIRST = 0.2  # s, until the first rates are known
NAMES = {
    Keys.Up: "up",
    Keys.Down: "down",
    Keys.Right: ">",
    Keys.Left: "<",
    Keys.PageUp: "page up",
    Keys.PageDown: "page down",
    Keys.Home: "home",
}


class Keyboard:
    """The terminal's keys, one by one and unseen, until the end of the block. prompt_toolkit tells
    them apart; interrupts stay signals, which its raw mode would make keys, too."""

    def __init__(self) -> None:
        self._input = Vt100Input(sys.stdin)
        self._waiting: list[str] = []

    def __enter__(self) -> Keyboard:
        self._before = termios.tcgetattr(self._input.fileno())
        tty.setcbreak(self._input.fileno())
        self._terminate = signal.signal(signal.SIGTERM, _terminated)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        signal.signal(signal.SIGTERM, self._terminate)
        with suppress(termios.error):  # the terminal has gone
            termios.tcsetattr(self._input.fileno(), termios.TCSADRAIN, self._before)

    def wait(self, seconds: float) -> str | None:
        """The next key; None: there was none. A terminal that has gone says q."""
        until = time.monotonic() + seconds
        while not self._waiting:
            left = until - time.monotonic()
            ready, _, _ = select.select([self._input.fileno()], [], [], max(left, 0))
            if not ready:  # half a sequence is kept for the next time
                return None
            self._waiting = [name_of(key) for key in self._input.read_keys()]
            if self._input.closed:
                self._waiting.append("q")
        return self._waiting.pop(0)


def name_of(press: KeyPress) -> str:
    """A letter, or the name of a key that is none."""
    if isinstance(press.key, Keys):
        return NAMES.get(press.key, press.key.value)
    return press.key


def _terminated(number: int, frame: FrameType | None) -> None:
    sys.exit(128 + number)


@dataclass
class View:
    """The view on the screen, as chosen by keys."""

    column: int
    reverse: bool = False
    first: int = 0  # thread in the first line
    page: int = 1  # threads that fit

    def press(self, key: str) -> None:
        """Other keys do nothing."""
        letters = [column.letter for column in tables.COLUMNS]
        steps = {"up": -1, "down": 1, "page up": -self.page, "page down": self.page}
        if key in letters:
            self.column = letters.index(key)
        elif key in ("<", ">"):
            self.column = (self.column + (1 if key == ">" else -1)) % len(letters)
        elif key == "r":
            self.reverse = not self.reverse
        elif key == "home":
            self.first = 0
        elif key in steps:
            self.first += steps[key]

    def draw(
        self, runtime: Runtime, snapshot: Snapshot, before: Snapshot, height: int
    ) -> RenderableType:
        """As many threads as fit."""
        chosen = tables.COLUMNS[self.column]
        found = tables.rows(runtime, snapshot, before)
        cpus = min(len(snapshot.cpus), max(height // 3, 1))
        more = len(snapshot.cpus) - cpus
        self.page = max(height - cpus - 5 - bool(more), 1)
        self.first = max(min(self.first, len(found) - self.page), 0)
        last = min(self.first + self.page, len(found))
        shown = tables.in_order(found, chosen, self.reverse)[self.first : last]
        parts: list[RenderableType] = [
            _line(tables.heading(runtime, snapshot)),
            tables.cpus_table(snapshot, before, cpus),
            *([_line(f"and {more} CPUs more")] if more else []),
            _line(""),
            tables.threads_text(shown, tables.COLUMNS, chosen),
            _line(
                f"{self.first + 1}-{last} of {len(found)} by {chosen.title}"
                f"{', reversed' if self.reverse else ''}   q quit   < > column   r reverse   "
                "arrows, page up, page down",
                "dim",
            ),
        ]
        return Group(*parts)


def _line(text: str, style: str = "") -> Text:
    return Text(text, style=style, no_wrap=True, overflow="ellipsis")


class Screen:
    """The process, and the terminal. limited: around each look and drawing."""

    def __init__(
        self,
        runtime: Runtime,
        console: Console,
        view: View,
        delay: float,
        limited: Callable[[], AbstractContextManager[None]],
    ) -> None:
        self.runtime, self.console, self.view, self.delay = runtime, console, view, delay
        self.limited = limited

    def look(self) -> Snapshot:
        with self.limited():
            return self.runtime.look()

    def live(self) -> None:
        """On the screen, until q, an interrupt, or the end of the program."""
        end = None
        before = self.look()
        time.sleep(min(FIRST, self.delay))
        try:
            with (
                Keyboard() as keys,
                Live(console=self.console, screen=True, auto_refresh=False) as screen,
            ):
                while self._show(keys, screen, before, now := self.look()):
                    before = now
        except EndedError as error:
            end = error
        except KeyboardInterrupt:
            pass
        if end is not None:
            click.echo(end.message, err=True)

    def _show(self, keys: Keyboard, screen: Live, before: Snapshot, now: Snapshot) -> bool:
        """Until the next look is due; false: q was pressed."""
        until = time.monotonic() + self.delay
        key: str | None = ""
        while key is not None:
            with self.limited():
                drawn = self.view.draw(self.runtime, now, before, self.console.height)
            screen.update(drawn, refresh=True)
            key = keys.wait(until - time.monotonic())
            if key == "q":
                return False
            self.view.press(key or "")
        return True

    def batch(self, count: int) -> None:
        """Printed so many times, all threads, one beneath the other."""
        try:
            before = self.look()
            for _ in range(count):
                time.sleep(self.delay)
                now = self.look()
                with self.limited():
                    self._print(before, now)
                before = now
        except EndedError as error:
            click.echo(error.message, err=True)

    def _print(self, before: Snapshot, now: Snapshot) -> None:
        runtime, console, view = self.runtime, self.console, self.view
        chosen = tables.COLUMNS[view.column]
        found = tables.in_order(tables.rows(runtime, now, before), chosen, view.reverse)
        console.print(tables.heading(runtime, now))
        console.print(tables.cpus_table(now, before))
        console.print()
        tables.print_text(console, tables.threads_text(found, tables.COLUMNS))
        console.print()
