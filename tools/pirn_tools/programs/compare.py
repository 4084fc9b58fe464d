# SPDX-License-Identifier: MIT
"""Runs the programs: what they put out, compared with NPTL's, and how long they take."""

from __future__ import annotations

import hashlib
import os
import re
import resource
import shlex
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pirn_tools import children
from pirn_tools.programs.plan import Program, Run

HANGS = 20.0  # seconds beyond five times what the reference took

HANG = "hangs"
NUMBERS = re.compile(r"[\d.]+")  # a program may say how fast it was


@dataclass(frozen=True)
class Configuration:
    """A binary of a program and the environment that it runs in."""

    name: str
    family: str  # nptl, pirn; installed, preload
    binary: Path
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def reference(self) -> str:
        """The family whose output and time count."""
        return {"pirn": "nptl", "preload": "installed"}.get(self.family, "")


@dataclass
class Outcome:
    """The runs of one configuration."""

    configuration: Configuration
    seconds: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    failure: str = ""


@dataclass(frozen=True)
class Sample:
    seconds: float
    cpu: float
    digest: str
    said: str  # on standard error
    failure: str


Step = Callable[[str], None]


def execute(
    configuration: Configuration, arguments: Sequence[str], output: Path, limit: float
) -> Sample:
    """One run. Standard output is the output, unless the program wrote files of that name."""
    environment = {key: v for key, v in os.environ.items() if not key.startswith("PIRN_")}
    environment |= configuration.environment
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    with output.open("wb") as out, tempfile.TemporaryFile() as errors:
        child = subprocess.Popen(
            [str(configuration.binary), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=errors,
            env=environment,
            start_new_session=True,
        )
        try:
            if not children.ends(child, limit):
                return Sample(limit, 0, "", "", HANG)
            seconds = time.monotonic() - start
            status = child.wait()
        finally:
            if child.returncode is None:  # it hangs, or we are interrupted
                os.killpg(child.pid, signal.SIGKILL)
                child.wait()
        errors.seek(0)
        said = errors.read().decode(errors="replace").strip()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Sample(seconds, cpu, digest(output), said, _failure(status, said))


def _failure(status: int, said: str) -> str:
    if status == 0:
        return ""
    words = f": {said.splitlines()[-1]}" if said else ""
    if status < 0:
        return f"killed by {signal.Signals(-status).name}{words}"
    return f"exit status {status}{words}"


def digest(output: Path) -> str:
    """Of what was written: the file itself, and files with a suffix."""
    total = hashlib.sha256()
    for path in sorted(output.parent.glob(f"{output.name}*")):
        total.update(path.read_bytes())
    return total.hexdigest()


def compare(
    run: Run,
    configurations: Sequence[Configuration],
    inputs: dict[str, str],
    rounds: int,
    keep: Path,
    step: Step,
) -> list[Outcome]:
    """Rounds of all configurations, in turn. A program that fails or differs once is not run again.

    The output of the first configuration stays in `keep`.
    """
    outcomes = {one.name: Outcome(one) for one in configurations}
    expected: dict[str, Sample] = {}
    slowest = 0.0
    for _ in range(rounds):
        for one in configurations:
            step(one.name)
            outcome = outcomes[one.name]
            if outcome.failure:
                continue
            with tempfile.TemporaryDirectory(prefix="pirn-programs-", dir=keep.parent) as scratch:
                output = Path(scratch) / "output"
                values = {**inputs, "output": str(output)}
                arguments = [word.format(**values) for word in shlex.split(run.args)]
                limit = HANGS + 5 * slowest
                sample = execute(one, arguments, output, limit)
                if one is configurations[0] and not keep.exists() and not sample.failure:
                    output.rename(keep)
            if not one.reference:
                slowest = max(slowest, sample.seconds)
                expected.setdefault(one.family, sample)
            outcome.failure = sample.failure or _differs(one, sample, expected)
            outcome.seconds.append(sample.seconds)
            outcome.cpu.append(sample.cpu)
    return list(outcomes.values())


def _differs(one: Configuration, sample: Sample, expected: dict[str, Sample]) -> str:
    wanted = expected[one.reference or one.family]
    if sample.digest != wanted.digest:
        return "another output than with NPTL"
    if NUMBERS.sub("", sample.said) != NUMBERS.sub("", wanted.said):
        return f"the output is right, but it says: {sample.said or 'nothing'}"
    return ""


def verdicts(program: Program, outcomes: Sequence[Outcome]) -> list[str]:
    """The deviations of one program from what programs.toml expects."""
    problems = []
    failed: dict[str, bool] = {}
    for outcome in outcomes:
        one = outcome.configuration
        failed[one.family] = failed.get(one.family, False) or bool(outcome.failure)
        if outcome.failure and one.family not in program.fails:
            problems.append(f"{program.name} under {one.name}: {outcome.failure}")
    for family in program.fails:
        if failed.get(family) is False:
            problems.append(f"{program.name}: {family} is expected to fail and passes")
    return problems
