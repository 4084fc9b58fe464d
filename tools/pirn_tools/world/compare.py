# SPDX-License-Identifier: MIT
"""Runs a program with the system's threads and with Pirn, in turn, and judges what it puts out.

A run has a folder of its own. Its output is what its script writes, and files named out*. The limit
of a run only finds hangs: it is many times what the program takes with the system's threads.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pirn_tools import children, openmp
from pirn_tools.world.plan import Program

FIRST_LIMIT = 180.0  # seconds, for the first run
LEAST_LIMIT, TIMES = 60.0, 20.0  # then this, and so many times the slowest with NPTL
NPTL, PIRN = "nptl", "pirn"
HANG = "hangs"

Step = Callable[[str], None]


@dataclass(frozen=True)
class Sample:
    seconds: float
    cpu: float
    digest: str
    failure: str
    said: str


@dataclass
class Outcome:
    """The runs of a program with one kind of threads."""

    seconds: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    failure: str = ""


@dataclass(frozen=True)
class Setting:
    """What is the same for all programs."""

    library: Path  # to preload
    inputs: Path
    keep: Path  # what set-up leaves: a folder for each program below it
    tools: Path  # clients of ours
    slowness: float = 1.0  # limits are so many times longer


@dataclass
class Ended:
    """A script that has ended, or was ended."""

    seconds: float
    cpu: float
    status: int | None  # none if it hangs


class Script:
    """A shell script that runs, in a session of its own; its output is appended to a file."""

    def __init__(
        self, text: str, folder: Path, environment: Mapping[str, str], output: str
    ) -> None:
        self.start = time.monotonic()
        with (folder / output).open("ab") as out:
            self.child = subprocess.Popen(
                ["sh", "-euc", text],
                cwd=folder,
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def running(self) -> bool:
        return not children.ends(self.child, 0)

    def wait(self, limit: float) -> Ended:
        """Waits for its end, and ends what it left behind; kills it after the limit (seconds)."""
        ended = children.ends(self.child, limit)
        seconds = time.monotonic() - self.start
        self.kill()
        _, status, usage = os.wait4(self.child.pid, 0)
        self.child.returncode = os.waitstatus_to_exitcode(status)
        cpu = usage.ru_utime + usage.ru_stime
        return Ended(seconds, cpu, self.child.returncode if ended else None)

    def kill(self) -> None:
        """Its whole session's group. It is not reaped yet, so the number is still its own."""
        if self.child.returncode is None:
            os.killpg(self.child.pid, signal.SIGKILL)


def compare(program: Program, setting: Setting, rounds: int, step: Step) -> dict[str, Outcome]:
    """Rounds of both, in turn. Who fails once is not run again."""
    outcomes = {NPTL: Outcome(), PIRN: Outcome()}
    step("set-up")
    outcomes[NPTL].failure = set_up(program, setting)
    expected: Sample | None = None
    for number in range(rounds):
        for name, outcome in outcomes.items():
            if outcome.failure or outcomes[NPTL].failure:
                continue
            step(f"{name}, round {number + 1} of {rounds}")
            slowest = max(outcomes[NPTL].seconds, default=0.0)
            limit = LEAST_LIMIT * setting.slowness + TIMES * slowest
            limit = limit if slowest else FIRST_LIMIT * setting.slowness
            sample = run_once(program, setting, name, limit)
            expected = expected or sample
            outcome.failure = sample.failure
            if not outcome.failure and not program.says and sample.digest != expected.digest:
                outcome.failure = f"its output differs{difference(expected.said, sample.said)}"
            outcome.seconds.append(sample.seconds)
            outcome.cpu.append(sample.cpu)
    return outcomes


def set_up(program: Program, setting: Setting) -> str:
    """Runs its set-up unless that was done; what failed."""
    keep = setting.keep / program.name
    stamp = keep / "set-up"
    wanted = hashlib.sha256(program.setup.encode()).hexdigest()
    if stamp.exists() and stamp.read_text() == wanted:
        return ""
    shutil.rmtree(keep, ignore_errors=True)
    keep.mkdir(parents=True)
    environment = surroundings(program, setting, keep, NPTL)
    ended = Script(program.setup or ":", keep, environment, "said").wait(
        FIRST_LIMIT * setting.slowness
    )
    failure = verdict(ended, keep / "said")
    if not failure:
        stamp.write_text(wanted)
    return f"set-up {failure}" if failure else ""


def run_once(program: Program, setting: Setting, name: str, limit: float) -> Sample:
    with tempfile.TemporaryDirectory(prefix="pirn-world-", ignore_cleanup_errors=True) as scratch:
        folder = Path(scratch)
        environment = surroundings(program, setting, folder, name)
        if program.serve:
            ended, failure = served(program, folder, environment, limit)
        else:
            ended = Script(program.run, folder, environment, "said").wait(limit)
            failure = verdict(ended, folder / "said")
        said = (folder / "said").read_bytes() if (folder / "said").exists() else b""
        if not failure and not re.search(program.says, said.decode(errors="replace")):
            failure = f"its output does not match: {last_line(folder / 'said')}"
        return Sample(
            ended.seconds, ended.cpu, digest(folder), failure, said.decode(errors="replace")
        )


def surroundings(program: Program, setting: Setting, folder: Path, name: str) -> dict[str, str]:
    """The environment of a run."""
    drop = ("PIRN_", "LD_PRELOAD")
    values = {key: v for key, v in os.environ.items() if not key.startswith(drop)}
    values |= {"LC_ALL": "C", "HOME": str(folder), "IN": str(setting.inputs), "PWD": str(folder)}
    values |= {"KEEP": str(setting.keep / program.name), "TOOLS": str(setting.tools)}
    values |= {key: v.format(**values) for key, v in program.environment.items()}
    if name == PIRN:
        words = (str(setting.library), values.get("LD_PRELOAD", ""))
        values["LD_PRELOAD"] = ":".join(filter(None, words))
        openmp.waits(values)
    return values


def served(
    program: Program, folder: Path, environment: dict[str, str], limit: float
) -> tuple[Ended, str]:
    """A server under load: the time of the load, the CPU time of the server."""
    port = free_port()
    environment = {**environment, "PORT": str(port)}
    client = {key: v for key, v in environment.items() if key != "LD_PRELOAD"}
    server = Script(f"exec {program.serve}", folder, environment, "server")
    try:
        if not answers(server, port, limit):
            failure = "ends before it listens" if not server.running() else "does not listen"
            return Ended(0, 0, None), f"{failure}: {last_line(folder / 'server')}"
        load = Script(program.load, folder, client, "said").wait(limit)
        failure = verdict(load, folder / "said", "under load ")
        if not failure and not server.running():
            failure = f"ends under load: {last_line(folder / 'server')}"
        os.kill(server.child.pid, signal.SIGTERM)
        ended = server.wait(limit)
    finally:
        server.kill()
    if not failure and ended.status is None:
        failure = "does not end after SIGTERM"
    if not failure and ended.status not in (0, -signal.SIGTERM, 128 + signal.SIGTERM):
        failure = verdict(ended, folder / "server", "at its end ")
    return Ended(load.seconds, ended.cpu, ended.status), failure


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def answers(server: Script, port: int, limit: float) -> bool:
    """Whether it takes a connection, sooner or later."""
    end = time.monotonic() + limit
    while time.monotonic() < end and server.running():
        try:
            socket.create_connection(("127.0.0.1", port), timeout=limit).close()
            return True
        except OSError:
            time.sleep(0.02)
    return False


def verdict(ended: Ended, said: Path, when: str = "") -> str:
    """What went wrong, in words, or nothing."""
    if ended.status is None:
        return f"{when}{HANG}"
    if ended.status == 0:
        return ""
    how = f"exit status {ended.status}"
    number = -ended.status if ended.status < 0 else ended.status - 128
    if number in [one.value for one in signal.Signals]:
        how = f"killed by {signal.Signals(number).name}"
    return f"{when}{how}: {last_line(said)}"


def difference(expected: str, said: str) -> str:
    """The first line that is new, if there is one: files may differ instead."""
    known = set(expected.splitlines())
    new = next((line for line in said.splitlines() if line not in known), "")
    return f": {new.strip()[:160]}" if new.strip() else ""


def last_line(path: Path) -> str:
    lines = path.read_text(errors="replace").split("\n") if path.exists() else []
    return next((line.strip()[:160] for line in reversed(lines) if line.strip()), "no message")


def digest(folder: Path) -> str:
    """Of what was said and of files out*."""
    total = hashlib.sha256()
    for path in sorted([folder / "said", *folder.glob("out*")]):
        if path.is_file():
            total.update(path.name.encode() + path.read_bytes())
    return total.hexdigest()
