# SPDX-License-Identifier: MIT
"""A run of QEMU: until the guest turns itself off, or is found to hang or to have failed.

The scripts of kernel/guest and `pirn guest` call it. The guest has a console in a file.
"""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

INTERVAL = 0.05  # seconds between two looks at it
# What the kernel writes to the console before it ends, or goes on in an unknown state.
FATAL = re.compile(
    rb"Kernel panic - not syncing[^\r\n]*|Internal error: Oops[^\r\n]*|Oops \[#[^\r\n]*"
)


class GuestError(Exception):
    """The guest hangs, or has ended in another way than by itself; what happened, in words."""


@dataclass(frozen=True)
class Times:
    """Seconds of this computer's clock, and of its CPUs' time for QEMU."""

    boot: float  # until the guest's first program wrote something
    all: float
    boot_cpu: float = 0.0  # unlike the others, it is the same on a busy computer


@dataclass(frozen=True)
class Look:
    """What is asked at each look at a guest that runs."""

    booted: Callable[[], bool]  # whether the guest's first program wrote something
    trouble: Callable[[], str] = str  # why it has to be ended, or nothing


def run(command: Sequence[str], console: Path, limit: float, look: Look) -> Times:
    """Until the guest turns itself off. It has so many seconds for that."""
    begin = time.monotonic()
    console.unlink(missing_ok=True)
    boot = boot_cpu = 0.0
    try:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
    except OSError as error:
        raise GuestError(f"cannot run {command[0]}: {error.strerror}") from None
    try:
        while process.poll() is None:
            time.sleep(INTERVAL)
            now = time.monotonic() - begin
            if not boot and look.booted():
                boot, boot_cpu = now, cpu_seconds(process.pid)
            trouble = look.trouble()
            if trouble:
                raise GuestError(trouble)
            if now > limit:
                raise GuestError(f"the guest did not end within {limit:.0f} s")
    finally:
        if process.poll() is None:
            process.kill()
        said = process.communicate()[1].decode(errors="replace").strip()
    failure = fatal(console)
    if failure:
        raise GuestError(f"the guest's kernel failed: {failure}")
    if process.returncode != 0:
        raise GuestError(f"QEMU ended with status {process.returncode}: {said or 'no message'}")
    return Times(boot, time.monotonic() - begin, boot_cpu)


def cpu_seconds(pid: int) -> float:
    """CPU time of a process that runs, or has ended and was not waited for."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def fatal(console: Path) -> str:
    """The line of a kernel that failed, or nothing."""
    found = FATAL.search(console.read_bytes()) if console.exists() else None
    return found[0].decode(errors="replace") if found else ""


def last_lines(console: Path, count: int) -> list[str]:
    lines = console.read_text(errors="replace").splitlines() if console.exists() else []
    return [line for line in lines if line.strip()][-count:]
