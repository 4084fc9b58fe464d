# SPDX-License-Identifier: MIT
"""Programs for the tests of `pirn ps`, `dump`, `top`: those of tests/live."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pirn_tools.live.process import Process
from pirn_tools.live.snapshot import Runtime, Thread

FOLDER = os.environ.get("LIVE_PROGRAMS")
needs_programs = pytest.mark.skipif(FOLDER is None, reason="LIVE_PROGRAMS is not set: no programs")
needs_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
LIMIT = 60  # s: hangs only
SLOW = 30  # s of CPU time for a look (--limit): the machine may be slow, and has other work


def command(*words: object) -> list[str]:
    """The pirn command."""
    return [sys.executable, "-m", "pirn_tools", *map(str, words)]


def pirn(*words: object) -> subprocess.CompletedProcess[str]:
    """Its output and exit status."""
    environment = {**os.environ, "TERM": "dumb"}
    return subprocess.run(
        command(*words),
        capture_output=True,
        text=True,
        timeout=LIMIT,
        env=environment,
        stdin=subprocess.DEVNULL,
    )


@contextmanager
def started(*words: object, **environment: str) -> Iterator[subprocess.Popen[str]]:
    """A program that says a line when it is ready, and ends with its input."""
    with subprocess.Popen(
        [str(word) for word in words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PIRN_CPUS": "2", **environment},
    ) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "ready\n"
            yield process
        finally:
            process.kill()


def moves(memory: Process, threads: list[Thread]) -> list[str]:
    """The threads that have not come to where they wait, or compute (one of these runs)."""
    computing = [t for t in threads if t.name in ("runs", "churns")]
    others = [t for t in threads if t not in computing]
    # Under the native API a thread that waits in the kernel counts as running.
    still = [t.name for t in others if t.state != "blocked" and not _waits_in_kernel(memory, t)]
    if computing and all(t.state != "running" for t in computing):
        still.append(computing[0].name)
    return still


def _waits_in_kernel(memory: Process, t: Thread) -> bool:
    return t.tid is not None and memory.registers(t.tid) is not None


@contextmanager
def program(name: str, *words: object, **environment: str) -> Iterator[subprocess.Popen[str]]:
    """One of tests/live, when each of its threads is where it stays."""
    assert FOLDER is not None
    path = Path(FOLDER) / f"live-{name}"
    with started(path, *words, **environment) as process, Process(process.pid) as memory:
        runtime, end = Runtime(memory), time.monotonic() + LIMIT
        while still := moves(memory, runtime.look().threads):
            assert time.monotonic() < end, f"these move: {still}"
            time.sleep(0.01)
        yield process
