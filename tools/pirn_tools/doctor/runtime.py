# SPDX-License-Identifier: MIT
"""What the library says about itself, in a process that starts its runtime.

The process is Python with libpirn-pthread preloaded: a program with threads that is there wherever
this command is. It runs under the options of the environment, but writes no files.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pirn_tools import launch
from pirn_tools.doctor.findings import Finding, State
from pirn_tools.errors import UserError

SECTION = "Runtime"
SECONDS = 60
WRITES = ("PIRN_TRACE", "PIRN_PROF", "PIRN_STATS")  # files at the program's end
PROBE = """
import ctypes, threading
thread = threading.Thread(target=lambda: None)
thread.start()
thread.join()
features = ctypes.CDLL(None).pirn_features
features.restype = ctypes.c_char_p
print(features().decode())
"""


@dataclass(frozen=True)
class Runtime:
    """What the library reports; without features it did not start, and `problem` says why."""

    library: Path | None
    problem: str = ""
    warnings: tuple[str, ...] = ()  # of options
    raw: Mapping[str, Any] = field(default_factory=dict)

    @property
    def workers(self) -> int:
        """0: not known."""
        return int(self.raw.get("workers", 0))

    def feature(self, name: str) -> tuple[str, str]:
        """Its state, and why; empty: not known."""
        for one in self.raw.get("features", ()):
            if one["name"] == name:
                return str(one["state"]), str(one["why"])
        return "", ""


def probe() -> Runtime:
    """Starts it once."""
    try:
        library = launch.preload_library()
    except UserError as error:
        return Runtime(None, error.message)
    environment = {name: value for name, value in os.environ.items() if name not in WRITES}
    try:
        launch.put_first(environment, "LD_PRELOAD", library)
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", PROBE],
            env=environment,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=SECONDS,
            check=False,
        )
    except UserError as error:
        return Runtime(library, error.message)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Runtime(library, f"a small program with the library preloaded: {error}")
    said = tuple(line for line in done.stderr.splitlines() if line.startswith("pirn:"))
    try:
        return Runtime(library, "", said, json.loads(done.stdout))
    except ValueError:
        last = (said or tuple(done.stderr.splitlines()[-1:]) or ("it says nothing",))[-1]
        return Runtime(library, f"exit status {done.returncode}: {last}", said)


@dataclass(frozen=True)
class Row:
    """How a feature of the library is shown: texts for the good state and for others."""

    feature: str
    name: str
    good: tuple[str, ...]
    values: Mapping[str, str]
    means: str  # if it is not good
    advice: str


ROWS = (
    Row(
        "tls",
        "thread storage",
        ("instruction",),
        {
            "instruction": "each thread has its own; switched by an instruction (fsgsbase)",
            "syscall": "each thread has its own; switched by a system call",
            "shared": "threads share their worker's",
        },
        "With a system call a switch costs some 100 ns more. Where storage is shared, a thread "
        "sees the __thread variables of the worker that runs it, and there is no preemption.",
        "For the instruction: Linux 5.9 or newer on a CPU with fsgsbase, without the kernel "
        "parameter nofsgsbase. For own storage: x86-64 and a glibc that the library knows.",
    ),
    Row(
        "preempt",
        "preemption",
        ("yes",),
        {"yes": "a thread that computes lets others run at a tick", "no": "none"},
        "A thread that computes keeps its worker until its next call of the runtime.",
        "Raise ulimit -i (RLIMIT_SIGPENDING) if timers are refused; see thread storage.",
    ),
    Row(
        "calls",
        "blocking calls",
        ("yes",),
        {"yes": "a thread in a blocking call stops no other", "no": "keep their worker"},
        "A thread that waits in a system call keeps its worker meanwhile.",
        "Leave PIRN_SPARES at its default; on AArch64 and RISC-V, use more workers (--cpus).",
    ),
    Row(
        "redirect",
        "library futexes",
        ("yes",),
        {
            "yes": "futexes of other libraries (OpenMP) wait as threads",
            "no": "hold their worker for about 20 ms",
        },
        "A thread that waits in gcc's OpenMP keeps its worker for some 20 ms each time.",
        "Allow membarrier(2) with SYNC_CORE in the container's seccomp profile.",
    ),
    Row(
        "guards",
        "stack guards",
        ("marks",),
        {"marks": "marks in the page table: no mapping for each", "mappings": "a mapping for each"},
        "Each stack takes two of the mappings that vm.max_map_count allows.",
        "Linux 6.13 or newer, or a larger vm.max_map_count.",
    ),
    Row(
        "fences",
        "memory fences",
        ("membarrier",),
        {
            "membarrier": "by membarrier(2), paid by the rare side",
            "instructions": "by instructions on both sides",
        },
        "Waking an idle worker and some locks cost some 20 ns more.",
        "Allow membarrier(2) in the container's seccomp profile.",
    ),
    Row(
        "pagemap",
        "private futexes",
        ("yes",),
        {
            "yes": "told from shared ones by /proc/self/pagemap",
            "no": "only where the program marks them",
        },
        "A wait by syscall(SYS_futex) without FUTEX_PRIVATE_FLAG holds a kernel thread.",
        "Mount /proc in the container.",
    ),
)


def findings(runtime: Runtime) -> list[Finding]:
    """A row for each feature."""
    if not runtime.raw:
        advice = (
            "Build the project, install it, or set PIRN_LIBRARY."
            if runtime.library is None
            else "Run a program of yours with pirn run, and look at what it prints."
        )
        return [Finding(SECTION, "library", State.MISSING, runtime.problem, "", advice)]
    version, policy = runtime.raw["version"], runtime.raw["policy"]
    text = f"{version}, {runtime.library}; policy {policy}, {runtime.workers} workers"
    found = [Finding(SECTION, "library", State.OK, text)]
    for row in ROWS:
        state, why = runtime.feature(row.feature)
        good = state in row.good
        value = row.values.get(state, state or "not reported")
        if why and not good:
            value += f": {why}"
        mark = State.OK if good else State.LIMITED
        found.append(Finding(SECTION, row.name, mark, value, row.means, row.advice))
    for line in runtime.warnings:
        advice = "Correct the environment variable."
        value = line.removeprefix("pirn: ")
        found.append(Finding(SECTION, "option", State.LIMITED, value, "", advice))
    return found
