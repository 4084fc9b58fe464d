# SPDX-License-Identifier: MIT
"""One decode of the clip as a process of its own: what it printed, what it cost."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pirn_tools.errors import UserError

NPTL = "nptl"
REFUSAL = "pirn: option sched: "
TIMEOUT_SECONDS = 300.0


class RefusedError(UserError):
    """The policy needs what this machine has not."""


@dataclass(frozen=True)
class Contender:
    """NPTL, or Pirn under one policy."""

    name: str
    program: Path
    environment: dict[str, str]

    @property
    def on_pirn(self) -> bool:
        return self.name != NPTL


@dataclass(frozen=True)
class Result:
    """One run. Figures that a contender does not have are None."""

    name: str
    seconds: float
    threads: int
    checksum: str
    switches: int | None
    steals: int | None
    migrations: int | None
    idle_share: float | None


@dataclass(frozen=True)
class _Usage:
    wall: float
    cpu: float
    switches: int


def contenders(apps: Path, policies: Sequence[str], cpus: int) -> list[Contender]:
    """NPTL first, then Pirn under each policy, all with the same number of CPUs."""
    pirn = apps / "mjpeg-pirn"
    settings = {name: {"PIRN_SCHED": name, "PIRN_CPUS": str(cpus)} for name in policies}
    return [
        Contender(NPTL, apps / "mjpeg-nptl", {}),
        *(Contender(name, pirn, environment) for name, environment in settings.items()),
    ]


def decode(contender: Contender, arguments: Sequence[str], cpus: int) -> Result:
    """Decodes once; an error tells how to repeat it."""
    with tempfile.TemporaryDirectory(prefix="pirn-demo-") as folder:
        stats_file = Path(folder) / "stats.json"
        environment = _clean_environment() | contender.environment
        if contender.on_pirn:
            environment["PIRN_STATS"] = f"json:{stats_file}"
        output, usage = _run(contender, arguments, environment)
        stats = _read_stats(contender, stats_file) if contender.on_pirn else {}
    printed = _printed(contender, output)
    return Result(
        name=contender.name,
        seconds=float(printed["seconds"]),
        threads=int(stats.get("threads", printed["threads"])),
        checksum=printed["checksum"],
        switches=stats.get("switches") if contender.on_pirn else usage.switches,
        steals=stats.get("steals"),
        migrations=stats.get("migrations"),
        idle_share=_idle_share(stats) if contender.on_pirn else _idle_of_kernel(usage, cpus),
    )


def _clean_environment() -> dict[str, str]:
    """The user's own PIRN_* settings would make the rows of the table mean something else."""
    return {key: value for key, value in os.environ.items() if not key.startswith("PIRN_")}


def _run(
    contender: Contender, arguments: Sequence[str], environment: dict[str, str]
) -> tuple[str, _Usage]:
    """Runs to the end with wait4: the usage of this one child, not of all children."""
    command = [str(contender.program), *arguments]
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        start = time.monotonic()
        try:
            child = subprocess.Popen(command, stdout=out, stderr=err, env=environment)
        except OSError as error:
            raise UserError(f"cannot run {command[0]}: {error.strerror}") from None
        status, usage = _wait(child, start, contender)
        wall = time.monotonic() - start
        out.seek(0)
        err.seek(0)
        if status != 0:
            err.seek(0)
            for line in err:
                if line.startswith(f"{REFUSAL}policy {contender.name} needs "):
                    raise RefusedError(line.removeprefix(REFUSAL).strip())
            err.seek(0)
            raise UserError(_failure(contender, command, status, err.read()))
        cpu = usage.ru_utime + usage.ru_stime
        return out.read(), _Usage(wall, cpu, usage.ru_nvcsw + usage.ru_nivcsw)


def _wait(child: subprocess.Popen[bytes], start: float, contender: Contender) -> tuple[int, Any]:
    try:
        while True:
            pid, status, usage = os.wait4(child.pid, os.WNOHANG)
            if pid != 0:
                child.returncode = os.waitstatus_to_exitcode(status)
                return child.returncode, usage
            if time.monotonic() - start > TIMEOUT_SECONDS:
                raise UserError(f"decoding under {contender.name} hangs ({TIMEOUT_SECONDS:.0f} s)")
            time.sleep(0.002)
    finally:
        if child.returncode is None:
            child.kill()
            child.wait()


def _failure(contender: Contender, command: Sequence[str], status: int, text: str) -> str:
    how = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
    setting = " ".join(f"{key}={value}" for key, value in contender.environment.items())
    last = text.strip().splitlines()[-3:]
    return "\n".join(
        [f"decoding under {contender.name} {how}", *last, f"repeat: {setting} {' '.join(command)}"]
    )


def _printed(contender: Contender, output: str) -> dict[str, str]:
    """key=value pairs of the program's last line, `mjpeg: pictures=48 ...`."""
    lines = [line for line in output.splitlines() if line.startswith("mjpeg:")]
    found = dict(re.findall(r"(\w+)=(\S+)", lines[-1])) if lines else {}
    missing = [key for key in ("seconds", "threads", "checksum") if key not in found]
    if missing:
        raise UserError(f"{contender.program.name} printed no {', '.join(missing)}: {output!r}")
    return found


def _read_stats(contender: Contender, path: Path) -> dict[str, Any]:
    try:
        stats = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise UserError(f"no statistics from {contender.name} (PIRN_STATS=json): {error}") from None
    if not isinstance(stats, dict):
        raise UserError(f"statistics from {contender.name} are not an object")
    return stats


def _idle_share(stats: dict[str, Any]) -> float | None:
    total = stats.get("wall_ns", 0) * stats.get("cpus", 0)
    return stats["idle_ns"] / total if total and "idle_ns" in stats else None


def _idle_of_kernel(usage: _Usage, cpus: int) -> float:
    return max(0.0, 1.0 - usage.cpu / (usage.wall * cpus))
