# SPDX-License-Identifier: MIT
"""Back traces by `pirn dump` of a program of another architecture, under qemu-user. The emulator
gives the program's addresses to the kernel as they are, but maps code without the right to execute
it, by which the tool knows files of code. So here a file's name says what it is.

emulated.py EMULATOR... PROGRAM
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

from pirn_tools.binary.memory import UnreadableError
from pirn_tools.live import objects
from pirn_tools.live.dump import Dump
from pirn_tools.live.process import Mapping, Process
from pirn_tools.live.snapshot import Runtime

LIMIT = 100  # s: hangs only

# What each back trace contains, in this order: functions of tests/live/waits.c, and their callers.
EXPECTED = {
    "on-sem": ["inner", "inner", "inner", "inner", "on_sem", "thread_entry"],
    "takes-a": ["takes_a", "thread_entry"],
    "takes-b": ["takes_b", "thread_entry"],
    "on-mutex": ["on_mutex", "thread_entry"],
    "on-cond": ["on_cond", "thread_entry"],
    "on-sleep": ["on_sleep", "thread_entry"],
    "on-join": ["on_join", "thread_entry"],
    "live-waits": ["main", "__libc_start_main", "_start"],
}


def _is_elf(maps: list[Mapping]) -> bool:
    name = Path(maps[0].path).name
    return name.startswith(("live-", "ld-")) or ".so" in name


def _names(lines: list[str]) -> dict[str, list[str]]:
    """The functions of each thread's back trace."""
    found: dict[str, list[str]] = {}
    name = ""
    for line in lines:
        if line.startswith("Thread "):
            name = line.split('"')[1]
            found[name] = []
        elif line.startswith("    #"):
            found[name].append(line.split()[1].split("+")[0])
    return found


def _is_right(lines: list[str]) -> bool:
    names = _names(lines)
    for thread, expected in EXPECTED.items():
        known = [name for name in names.get(thread, []) if name in expected]
        if known != expected:
            return False
    return True


def _dump(pid: int) -> list[str]:
    with Process(pid) as process:
        runtime = Runtime(process)
        return list(Dump(runtime, runtime.look()).lines(all_threads=True))


def main() -> int:
    """Looks until all threads are where they wait, which the program itself cannot say."""
    objects._is_elf = _is_elf
    environment = {**os.environ, "PIRN_CPUS": "2"}
    with subprocess.Popen(
        sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as program:
        assert program.stdout is not None
        lines: list[str] = []
        try:
            assert program.stdout.readline() == "ready\n"
            end = time.monotonic() + LIMIT
            while not _is_right(lines) and time.monotonic() < end:
                time.sleep(0.1)
                try:
                    lines = _dump(program.pid)
                except UnreadableError:
                    continue
        finally:
            program.kill()
    print("\n".join(lines))
    return 0 if _is_right(lines) else 1


if __name__ == "__main__":
    sys.exit(main())
