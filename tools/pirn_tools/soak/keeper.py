# SPDX-License-Identifier: MIT
"""Keeps what a run has started, so that all of it ends: also when the user interrupts.

1. A process is in the list before an interrupt can be raised.
2. During the end of all, further interrupts are ignored.
3. A process is ended by its number, while it has not been reaped: no other one can have it.
"""

from __future__ import annotations

import os
import shlex
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

from pirn_tools.soak.processes import descendants, parents
from pirn_tools.world.compare import Script

GRACE = 10.0  # seconds to end after SIGTERM when the run is broken off
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(BaseException):
    """The user wants the end: no error that anything here may take for one of its own."""


class Keeper:
    def __init__(self) -> None:
        self.scripts: list[Script] = []
        self.parent = os.getppid()
        self._held = False
        self._wanted = False

    def handle_signals(self) -> None:
        for number in SIGNALS:
            signal.signal(number, self._signal)

    def start(
        self, words: Sequence[str], folder: Path, environment: Mapping[str, str], output: str
    ) -> Script:
        """Starts a command in a session of its own; its output is appended to a file."""
        with self._hold():
            script = Script(f"exec {shlex.join(words)}", folder, environment, output)
            self.scripts.append(script)
        return script

    def look(self) -> None:
        """An interrupt if the process that started this one has gone: nobody waits any more."""
        if os.getppid() != self.parent:
            raise Interrupted

    def end_all(self) -> None:
        """The latest first: clients before their servers."""
        for number in SIGNALS:
            if signal.getsignal(number) == self._signal:
                signal.signal(number, signal.SIG_IGN)
        for script in reversed(self.scripts):
            if script.child.returncode is None:
                with suppress(OSError):
                    _end(script)

    def _signal(self, _: int, __: FrameType | None) -> None:
        self._wanted = True
        if not self._held:
            raise Interrupted

    @contextmanager
    def _hold(self) -> Iterator[None]:
        self._held = True
        try:
            yield
        finally:
            self._held = False
        if self._wanted:
            raise Interrupted


def ask_to_end(script: Script) -> None:
    """SIGTERM. Popen.terminate would reap a process that has ended, which Script.wait must do."""
    if script.child.returncode is None:
        os.kill(script.child.pid, signal.SIGTERM)


def _end(script: Script) -> None:
    """It, its session, and descendants that have sessions of their own, such as PostgreSQL's."""
    family = descendants(script.child.pid, parents())
    ask_to_end(script)
    script.wait(GRACE)
    for pid in set(family[1:]) & set(parents()):
        with suppress(OSError):
            os.kill(pid, signal.SIGKILL)
