# SPDX-License-Identifier: MIT
"""QEMU, or what else runs a program, while it does: its output, the time it may take, and its end,
whatever happens to us."""

from __future__ import annotations

import contextlib
import ctypes
import os
import selectors
import signal
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import IO

import click

from pirn_tools.board.stuck import Monitor
from pirn_tools.errors import UserError

TIMED_OUT = 124  # as timeout(1) says it
PATIENCE = 2.0  # seconds between asking QEMU to end and ending it
PR_SET_PDEATHSIG = 1

Filter = Callable[[bytes], bytes]


def run(
    line: list[str],
    timeout: float,
    filters: tuple[Filter, Filter],
    stdin: Path | None = None,
    monitor: Monitor | None = None,
) -> int:
    """The status of a QEMU; filters: for its standard output and error output; stdin: a file that
    it reads instead of ours; monitor: says where it is when the time is up."""
    # The sound of boards that have some is of no use, and its drivers may not be installed.
    environment = {**os.environ, "QEMU_AUDIO_DRV": "none"}
    try:
        with stdin.open("rb") if stdin is not None else contextlib.nullcontext() as source:
            qemu = subprocess.Popen(
                [*line, *(monitor.words if monitor else ())],
                stdin=source,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=environment,
                pass_fds=(monitor.descriptor,) if monitor else (),
                preexec_fn=_die_with_parent,
            )
    except OSError as error:
        raise UserError(f"cannot run {line[0]}: {error.strerror}", status=2) from None
    if monitor:
        monitor.started()
    in_time, places = False, list[str]()
    with _terminal_kept(), _signals_to(qemu) as received, selectors.DefaultSelector() as outputs:
        try:
            _register(outputs, qemu, filters)
            in_time = _pass_output(outputs, timeout)
            if not in_time and monitor:
                places = _report(outputs, monitor)
        finally:
            _end(qemu, PATIENCE if in_time else 0)
    if received:
        return 128 + received[0]
    if not in_time:
        click.echo(f"pirn: no end after {timeout:g} s: {line[0]} was stopped", err=True)
        for place in places:
            click.echo(place, err=True)
        return TIMED_OUT
    return qemu.returncode if qemu.returncode >= 0 else 128 - qemu.returncode


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _register(
    outputs: selectors.BaseSelector, qemu: subprocess.Popen[bytes], filters: tuple[Filter, Filter]
) -> None:
    assert qemu.stdout is not None and qemu.stderr is not None  # noqa: S101, PT018
    outputs.register(qemu.stdout, selectors.EVENT_READ, (filters[0], sys.stdout.buffer))
    outputs.register(qemu.stderr, selectors.EVENT_READ, (filters[1], sys.stderr.buffer))


def _pass_output(outputs: selectors.BaseSelector, timeout: float) -> bool:
    """Until QEMU closes its outputs. Whether that was in time."""
    deadline = time.monotonic() + timeout if timeout > 0 else None
    while outputs.get_map():
        left = None if deadline is None else deadline - time.monotonic()
        if left is not None and left <= 0:
            return False
        for key, _ in outputs.select(left):
            _pass_piece(outputs, key)
    return True


def _pass_piece(outputs: selectors.BaseSelector, key: selectors.SelectorKey) -> None:
    filtered, to = key.data
    piece = os.read(key.fd, 65536)
    _write(to, filtered(piece))
    if not piece:
        outputs.unregister(key.fileobj)


def _report(outputs: selectors.BaseSelector, monitor: Monitor) -> list[str]:
    """Where the cores are. Outputs are passed on meanwhile: QEMU, which writes what the program
    prints before it answers, would otherwise wait for room in a pipe."""
    places = list[str]()
    ended, end = os.pipe()

    def ask() -> None:
        try:
            places.extend(monitor.report())
        finally:
            os.close(end)

    asking = threading.Thread(target=ask)
    asking.start()
    outputs.register(ended, selectors.EVENT_READ)
    try:
        while ended in outputs.get_map():
            for key, _ in outputs.select():
                if key.fd == ended:
                    outputs.unregister(ended)
                else:
                    _pass_piece(outputs, key)
    finally:
        asking.join()
        os.close(ended)
    return places


def _write(to: IO[bytes], piece: bytes) -> None:
    to.write(piece)
    to.flush()


def _end(qemu: subprocess.Popen[bytes], patience: float) -> None:
    """It ends by itself, or is asked to, or is killed."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        qemu.wait(patience)
        return
    qemu.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        qemu.wait(PATIENCE)
        return
    qemu.kill()
    qemu.wait()


@contextmanager
def _terminal_kept() -> Iterator[None]:
    """QEMU changes the terminal's settings, and cannot undo it when it is killed."""
    try:
        earlier = termios.tcgetattr(sys.stdin.fileno())
    except (termios.error, ValueError, OSError):
        yield
        return
    try:
        yield
    finally:
        termios.tcsetattr(sys.stdin.fileno(), termios.TCSADRAIN, earlier)


@contextmanager
def _signals_to(qemu: subprocess.Popen[bytes]) -> Iterator[list[int]]:
    """Signals that would end us end QEMU. Yields those that came."""
    received: list[int] = []

    def pass_on(number: int, _: FrameType | None) -> None:
        received.append(number)
        qemu.terminate()

    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    earlier = {number: signal.signal(number, pass_on) for number in numbers}
    try:
        yield received
    finally:
        for number, handler in earlier.items():
            signal.signal(number, handler)
