# SPDX-License-Identifier: MIT
"""Programs for the tests of `pirn ps`, `dump`, `top`: those of tests/live."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

FOLDER = os.environ.get("LIVE_PROGRAMS")
needs_programs = pytest.mark.skipif(FOLDER is None, reason="LIVE_PROGRAMS is not set: no programs")
needs_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
LIMIT = 60  # s: hangs only


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


@contextmanager
def program(name: str, *words: object, **environment: str) -> Iterator[subprocess.Popen[str]]:
    """One of tests/live."""
    assert FOLDER is not None
    with started(Path(FOLDER) / f"live-{name}", *words, **environment) as process:
        yield process
