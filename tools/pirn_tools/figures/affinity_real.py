# SPDX-License-Identifier: MIT
"""Runs on the machine at hand for `pirn bench figures affinity`: wavemix with Pirn and with the C
library's threads, what was learned from its wake-ups, and the price of a wake-up."""

from __future__ import annotations

import json
import os
import re
import statistics
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from rich.console import Console

from pirn_tools import machine
from pirn_tools.chip.sweep import at_once
from pirn_tools.errors import UserError
from pirn_tools.figures import affinity_survey
from pirn_tools.figures.affinity_model import (
    AUTO,
    DECLARED,
    OLD,
    PIN_ALL,
    PIN_WAVES,
    PLAIN,
    SERIAL,
    TASKS,
    execute,
)
from pirn_tools.figures.affinity_thesis import BUFFERS, Serial
from pirn_tools.figures.hardware_counters import Counters

RULES: Mapping[str, tuple[str, ...]] = {
    PLAIN: (),
    DECLARED: ("--affinity",),
    AUTO: (),
}
NPTL, NPTL_FIFO = "NPTL", "NPTL, SCHED_FIFO"
# wavemix: title, policy of Pirn or none, arguments.
WAYS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    SERIAL: (PLAIN, ("--serial",)),
    PLAIN: (PLAIN, ()),
    OLD: (OLD, ("--affinity",)),
    DECLARED: (DECLARED, ("--affinity",)),
    AUTO: (AUTO, ()),
    PIN_WAVES: (PLAIN, ("--pin=waves",)),
    PIN_ALL: (PLAIN, ("--pin=all",)),
    NPTL: ("", ()),
    NPTL_FIFO: ("", ("--class=fifo",)),
}
PINNED = (PIN_WAVES, PIN_ALL)
RULED = (OLD, DECLARED, AUTO)  # with a rule of affinity
PLACED = tuple(
    f"affinity-{name}"
    for name in ("here", "there", "standard", "pushes", "push-ns", "pulls", "late", "pull-ns")
)
PIN_CPUS = 4  # which pinned tasks need: apps/wavemix/place.c
SAMPLES, WARMUP = 1000, 100  # of a run of wavemix
SYNCS = ("sem", "cond")
PRODUCERS = (0, 1, 2, 4, 8, 16)
BATCH = 64  # wake-ups in a sample of wakeup-producers
FEW, MANY = 5, 25  # samples of the two runs under callgrind
QUIET = 0.5  # load average by CPU up to which a machine is quiet

Values = Mapping[str, float]
Key = TypeVar("Key")
Made = TypeVar("Made")


@dataclass(frozen=True)
class Programs:
    build: Path

    @property
    def model(self) -> Path:
        return self.build / "tests" / "sim" / "model" / "pirn-sim-model"

    @property
    def pirn(self) -> Path:
        return self.build / "apps" / "wavemix-pirn"

    @property
    def nptl(self) -> Path:
        return self.build / "apps" / "wavemix-nptl"

    @property
    def wakeup(self) -> Path:
        return self.build / "bench" / "wakeup-producers"

    def check(self) -> None:
        every = [self.model, self.pirn, self.nptl, self.wakeup]
        every += [self.build / path for path in affinity_survey.PROGRAMS.values()]
        missing = [path.name for path in every if not os.access(path, os.X_OK)]
        if missing:
            raise UserError(f"not built: {', '.join(missing)}; build first (make build-release)")


@dataclass(frozen=True)
class Real:
    """What was measured."""

    runs: Mapping[tuple[int, str], Sequence[Values]]  # KB, way: wavemix' last line, of each round
    left_out: Mapping[str, str]  # way: why it was not run
    learned: Mapping[str, Sequence[Values]]  # by --sync: counters of affinity=auto, of each round
    posts: Mapping[tuple[str, int], Sequence[float]]  # rule, producers: ns of each round
    instructions: Mapping[tuple[str, int], float]  # of a wake-up; empty without callgrind
    load: str
    cpus: int
    no_counters: str  # why cache misses were not counted; empty: they were

    @property
    def quiet(self) -> bool:
        return float(self.load.split(",")[0]) <= QUIET * self.cpus

    @property
    def ways(self) -> list[str]:
        return [way for way in WAYS if way not in self.left_out]

    def each(self, kb: int, way: str, name: str) -> list[float]:
        """A value of each round."""
        return [one[name] for one in self.runs[kb, way]]

    def serial(self, kb: int) -> Serial:
        """The tasks' times in serial runs: medians of a run, since other programs take the CPU at
        times, and of the rounds."""
        times = [statistics.median(self.each(kb, SERIAL, task)) for task in TASKS]
        waves, mixers = times[:4], times[4:]
        return Serial(statistics.mean(waves), statistics.mean(mixers[:2]), mixers[2])


def values(text: str) -> dict[str, float]:
    """NAME=NUMBER of the last line."""
    last = text.strip().splitlines()[-1:]
    return {
        name: float(number)
        for name, number in re.findall(r"(\w+)=(-?[0-9.]+)(?=\s|$)", last[0] if last else "")
    }


def environment(**settings: str) -> list[str]:
    """A command's beginning: none of the user's own options, but these."""
    unset = [word for name in os.environ if name.startswith("PIRN_") for word in ("-u", name)]
    return ["env", *unset, *(f"{name}={value}" for name, value in settings.items())]


def command_of(programs: Programs, way: str, *more: str, stats: Path | None = None) -> list[str]:
    """stats: a file for the counters of Pirn."""
    sched, arguments = WAYS[way]
    program = programs.pirn if sched else programs.nptl
    settings = {"PIRN_SCHED": sched} if sched else {}
    if sched and stats is not None:
        settings["PIRN_STATS"] = f"json:{stats}"
    return [*environment(**settings), str(program), *arguments, *more]


def wavemix(programs: Programs, way: str, buffer: int, counters: Counters) -> dict[str, float]:
    """Of the times from one sample to the next, in microseconds: mean, sigma, variance, A2S,
    median; medians of the tasks' times; by sample, migrations, misses, and what the rule counts.
    """
    measured = (f"--samples={SAMPLES}", f"--warmup={WARMUP}")
    said = ""
    with tempfile.TemporaryDirectory(prefix="pirn-") as folder:
        stats = Path(folder) / "stats.json"
        words = command_of(programs, way, f"--buffer={buffer}K", *measured, stats=stats)

        def run() -> None:
            nonlocal said
            said = execute(words, f"wavemix, {way}")

        counted = counters.count(run) | placed(stats)
    got = values(said)
    names = ("mean_us", "sigma_us", "a2s_us", "median_us")
    found = {name: got[f"period_{name}"] for name in names}
    found["variance"] = found["sigma_us"] ** 2
    found["migrations"] = got["migrations"] / SAMPLES
    found |= {task: values(line)["median_us"] for task, line in task_lines(said)}
    # Also of the samples before those that are measured.
    return found | {name: one / (SAMPLES + WARMUP) for name, one in counted.items()}


def placed(stats: Path) -> dict[str, float]:
    """Counters of the rule of affinity, and times in ns. Empty: the way has none."""
    if not stats.exists():
        return {}
    own: dict[str, float] = json.loads(stats.read_text(encoding="utf-8")).get("own", {})
    return {name: own[name] for name in PLACED if name in own}


def task_lines(text: str) -> list[tuple[str, str]]:
    """Of each task, its name and line."""
    lines = ((re.search(r" thread=(\w+) ", line), line) for line in text.splitlines())
    return [(match[1], line) for match, line in lines if match]


def refused(programs: Programs, way: str) -> str:
    """Why a way cannot be run here; empty if it can."""
    if way in PINNED and len(os.sched_getaffinity(0)) < PIN_CPUS:
        return f"tasks are pinned to {PIN_CPUS} CPUs; here are {len(os.sched_getaffinity(0))}"
    if way != NPTL_FIFO:
        return ""
    words = command_of(programs, way, "--samples=1", "--warmup=0")
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    if done.returncode == 0:
        return ""
    return (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1]


def learned(programs: Programs, sync: str) -> Values:
    """Counters of a run that learns, and whose threads declare, too."""
    with tempfile.TemporaryDirectory(prefix="pirn-") as folder:
        file = Path(folder) / "stats.json"
        before = environment(PIRN_SCHED=AUTO, PIRN_STATS=f"json:{file}")
        execute([*before, str(programs.pirn), "--affinity", f"--sync={sync}"], f"wavemix, {sync}")
        own: dict[str, float] = json.loads(file.read_text(encoding="utf-8"))["own"]
    return own


def post(programs: Programs, rule: str, producers: int) -> float:
    before = environment(PIRN_SCHED=rule, PIRN_CPUS="1")
    words = [*before, str(programs.wakeup), f"--producers={producers}", "--samples=200"]
    return values(execute(words, f"wakeup-producers, {rule}"))["post_ns"]


def collected(programs: Programs, rule: str, producers: int, samples: int) -> int:
    """Instructions of a run, as callgrind counts them."""
    with tempfile.TemporaryDirectory(prefix="pirn-") as folder:
        log = Path(folder) / "log"
        tool = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
        before = environment(PIRN_SCHED=rule, PIRN_CPUS="1")
        program = [str(programs.wakeup), f"--producers={producers}", f"--samples={samples}"]
        execute([*before, *tool, f"--log-file={log}", *program], f"callgrind, {rule}")
        found = re.search(r"Collected : (\d+)", log.read_text(encoding="utf-8"))
    if found is None:
        raise UserError("callgrind has counted nothing")
    return int(found[1])


def instructions(programs: Programs, rule: str, producers: int) -> float:
    """Of a round, which wakes a consumer and waits for it: the difference of two runs."""
    few, many = (collected(programs, rule, producers, samples) for samples in (FEW, MANY))
    return (many - few) / ((MANY - FEW) * BATCH)


def alternating(
    keys: Sequence[Key], rounds: int, run: Callable[[Key], Made]
) -> dict[Key, list[Made]]:
    """All of them in turn, `rounds` times: what disturbs the machine for a while disturbs all."""
    found: dict[Key, list[Made]] = {key: [] for key in keys}
    for _ in range(rounds):
        for key in keys:
            found[key].append(run(key))
    return found


def measure(programs: Programs, rounds: int, jobs: int, console: Console) -> Real:
    """One run at a time, but callgrind's, which takes no times."""
    load = machine.load()
    left_out = {way: why for way in WAYS if (why := refused(programs, way))}
    counters = Counters()
    console.print("wavemix on this machine")
    runs = alternating(
        [(kb, way) for kb in BUFFERS for way in WAYS if way not in left_out],
        rounds,
        lambda key: wavemix(programs, key[1], key[0], counters),
    )
    counters.close()
    console.print("wakeup-producers")
    prices = [(rule, producers) for rule in RULES for producers in PRODUCERS]
    posts = alternating(prices, rounds, lambda key: post(programs, *key))
    counted: dict[tuple[str, int], float] = {}
    if machine.first_line("valgrind", "--version") != "-":
        counted = at_once(
            prices, lambda key: instructions(programs, *key), "callgrind", jobs, console
        )
    found = {sync: [learned(programs, sync) for _ in range(rounds)] for sync in SYNCS}
    cpus = os.cpu_count() or 1
    return Real(runs, left_out, found, posts, counted, load, cpus, counters.refusal)


def middle(found: Sequence[float]) -> float:
    return statistics.median(found)
