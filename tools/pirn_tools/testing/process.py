# SPDX-License-Identifier: MIT
"""The programs that a run of tests starts: each in a session of its own, all end with us."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

PATIENCE = 5.0  # seconds for what is asked to end


@dataclass(frozen=True)
class Ended:
    status: int  # 128 and the signal's number, where one ended it
    output: str
    seconds: float
    in_time: bool


class Stopped(Exception):  # noqa: N818
    """Somebody wants us to end."""

    def __init__(self, number: int) -> None:
        super().__init__(f"stopped by signal {number}")
        self.status = 128 + number


class Processes:
    """All that run."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._stopped = False

    def run(
        self,
        line: Sequence[str],
        folder: Path,
        timeout: float = 0,
        environment: Mapping[str, str] | None = None,
    ) -> Ended:
        """Runs it in the folder until it ends or the time is up (0: never). An OSError where it
        cannot be started."""
        begin = time.monotonic()
        with self._lock:
            if self._stopped:
                return Ended(130, "", 0.0, in_time=True)
            process = subprocess.Popen(
                line,
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            self._running.add(process)
        in_time = True
        try:
            output, _ = process.communicate(timeout=timeout or None)
        except subprocess.TimeoutExpired:
            in_time = False
            output = _end(process)
        finally:
            with self._lock:
                self._running.discard(process)
        status = process.returncode
        text = output.decode(errors="replace")
        return Ended(
            status if status >= 0 else 128 - status, text, time.monotonic() - begin, in_time
        )

    def stop(self) -> None:
        """Ends all, and starts none any more."""
        self._signal_all(signal.SIGTERM)
        later = threading.Timer(PATIENCE, self._signal_all, [signal.SIGKILL])
        later.daemon = True
        later.start()

    def _signal_all(self, number: signal.Signals) -> None:
        with self._lock:
            self._stopped = True
            for process in self._running:
                _signal(process, number)

    @contextmanager
    def stopped_by_signals(self) -> Iterator[None]:
        def stop(number: int, _: FrameType | None) -> None:
            raise Stopped(number)

        numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        earlier = {number: signal.signal(number, stop) for number in numbers}
        try:
            yield
        except Stopped:
            self.stop()
            raise
        finally:
            for number, handler in earlier.items():
                signal.signal(number, handler)


def _end(process: subprocess.Popen[bytes]) -> bytes:
    _signal(process, signal.SIGTERM)
    try:
        return process.communicate(timeout=PATIENCE)[0]
    except subprocess.TimeoutExpired:
        _signal(process, signal.SIGKILL)
        return process.communicate()[0]


def _signal(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)
