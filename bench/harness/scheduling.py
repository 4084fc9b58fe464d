# SPDX-License-Identifier: MIT
"""macro/scheduling.toml: the cost of scheduling. The runs, and the results of one run."""

from __future__ import annotations

import csv
import json
import os
import re
import shlex
import statistics
import subprocess
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pirn_tools.errors import UserError

from harness.rounds import environment_with, rotated

NPTL, PIRN, METERED = "nptl", "pirn", "metered"
LATENCY, TICKS = "join_latency", "interruptions"
NUMBER = re.compile(r"\b([a-z0-9_]+)=([-+0-9.eE]+)")


@dataclass(frozen=True)
class Pattern:
    """A program that runs with several numbers of threads."""

    name: str
    args: str
    threads: tuple[int, ...]
    together: int  # threads of all repetitions; 0: it is not repeated
    there: Mapping[str, str]

    def argv(self, threads: int) -> list[str]:
        repeat = max(1, self.together // threads)
        return shlex.split(self.args.format(threads=threads, repeat=repeat))


@dataclass(frozen=True)
class Profile:
    """A run under callgrind, and the number of threads it creates."""

    args: str
    threads: int


@dataclass(frozen=True)
class Plan:
    """The whole file."""

    policies: tuple[str, ...]
    workers: tuple[int, ...]
    timeout: float
    patterns: tuple[Pattern, ...]
    latency: Mapping[str, str]
    tick_args: str
    ticks: Mapping[str, tuple[int, ...]]  # by build
    profiles: Mapping[str, Profile]  # by program


@dataclass(frozen=True)
class Case:
    """One program in one setting."""

    part: str
    row: str
    system: str  # a policy, or NPTL
    workers: int
    build: str
    args: tuple[str, ...]
    options: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def key(self) -> tuple[str, str, str, int, str]:
        return self.part, self.row, self.system, self.workers, self.build


Values = dict[str, float]


@dataclass
class Measured:
    """By case: the result of each round, or the reason why there is none."""

    values: dict[tuple[str, str, str, int, str], dict[int, Values]] = field(default_factory=dict)
    failed: dict[tuple[str, str, str, int, str], str] = field(default_factory=dict)

    def of(
        self, part: str, row: str, system: str, workers: int, build: str, name: str
    ) -> list[float]:
        rounds = self.values.get((part, row, system, workers, build), {})
        return [values[name] for values in rounds.values() if name in values]

    def median(
        self, part: str, row: str, system: str, workers: int, build: str, name: str
    ) -> float | None:
        found = self.of(part, row, system, workers, build, name)
        return statistics.median(found) if found else None


def load_plan(path: Path) -> Plan:
    """The file. An error in it is reported by name."""
    try:
        return plan_of(tomllib.loads(path.read_text()))
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, KeyError, TypeError, ValueError) as error:
        raise UserError(f"{path}: {error!r}") from None


def plan_of(raw: Mapping[str, Any]) -> Plan:
    patterns = tuple(
        Pattern(
            name=entry["name"],
            args=entry["args"],
            threads=tuple(entry["threads"]),
            together=entry.get("together", 0),
            there=entry.get("there", {}),
        )
        for entry in raw["pattern"]
    )
    ticks = raw["ticks"]
    return Plan(
        policies=tuple(raw["policies"]),
        workers=tuple(raw["workers"]),
        timeout=float(raw["timeout"]),
        patterns=patterns,
        latency=raw["latency"]["rows"],
        tick_args=ticks["args"],
        ticks={build: tuple(ticks[build]) for build in (PIRN, METERED)},
        profiles={name: Profile(**entry) for name, entry in raw.get("profile", {}).items()},
    )


def pattern_cases(plan: Plan) -> list[list[Case]]:
    """By row: the systems, which take turns."""
    groups = []
    for pattern in plan.patterns:
        for threads in pattern.threads:
            args = tuple(pattern.argv(threads))
            for workers in plan.workers:
                group = [Case(pattern.name, str(threads), NPTL, workers, NPTL, args)]
                for name in plan.policies:
                    for build in (PIRN, METERED):
                        own = (pattern.name, str(threads), name, workers, build, args)
                        group.append(Case(*own, {"PIRN_SCHED": name}))
                groups.append(group)
    return groups


def latency_cases(plan: Plan) -> list[list[Case]]:
    groups = []
    for row, text in plan.latency.items():
        args = tuple(shlex.split(text))
        group = [Case(LATENCY, row, NPTL, 2, NPTL, (*args, "--by=cpu"))]
        for name in plan.policies:
            group.append(Case(LATENCY, row, name, 2, PIRN, args, {"PIRN_SCHED": name}))
        groups.append(group)
    return groups


def tick_options(tick: int) -> dict[str, str]:
    if tick == 0:
        return {"PIRN_PREEMPT": "0"}
    return {"PIRN_PREEMPT": "1", "PIRN_TICK": str(tick), "PIRN_SLICE": str(max(tick, 10000))}


def tick_cases(plan: Plan) -> list[list[Case]]:
    args = tuple(shlex.split(plan.tick_args))
    system = plan.policies[0]
    return [
        [
            Case(TICKS, str(tick), system, 1, build, args, tick_options(tick))
            for build, ticks in plan.ticks.items()
            for tick in ticks
        ]
    ]


PARTS: dict[str, Callable[[Plan], list[list[Case]]]] = {
    "patterns": pattern_cases,
    "latency": latency_cases,
    "ticks": tick_cases,
}


def counters_of(raw: Mapping[str, Any]) -> Values:
    """From PIRN_STATS=json; the meter's values are summed over the workers."""
    values = {name: float(raw[name]) for name in ("ticks", "preemptions", "switches")}
    if "meter" in raw:
        meter = raw["meter"]
        each = [cpu for cpu in meter["per_cpu"] if cpu["events"] > 0]
        values["events"] = sum(cpu["events"] for cpu in each)
        values["inside_ns"] = sum(cpu["inside_ns"] for cpu in each)
        values["longest_ns"] = max((cpu["longest_ns"] for cpu in each), default=0.0)
        values["shortest_ns"] = min((cpu["shortest_ns"] for cpu in each), default=0.0)
        values["pair_ns"] = meter["pair_ns"]
        values["pair_inside_ns"] = meter["pair_inside_ns"]
    return values


def derive(values: Values, workers: int) -> None:
    """Time in the scheduler, less the cost of measuring it: an event contains the meter's own
    code once (pair_inside_ns), and makes the program longer by pair_ns."""
    if "events" not in values:
        return
    events = values["events"]
    inside = max(0.0, values["inside_ns"] - events * values["pair_inside_ns"])
    whole = workers * values["seconds"] * 1e9 - events * values["pair_ns"]
    values["scheduler_ns"] = inside
    if whole > 0:
        values["share"] = inside / whole
    if events > 0:
        values["event_ns"] = inside / events


def program_of(case: Case, apps: Path) -> Path:
    return apps / f"{case.part}-{case.build}"


def run_case(case: Case, apps: Path, number: int, timeout: float, stats: Path) -> Values:
    """One execution, on as many CPUs as there are workers; with one, another one each round."""
    allowed = sorted(os.sched_getaffinity(0))
    if len(allowed) < case.workers:
        raise UserError(f"{case.workers} workers want as many CPUs; there is {len(allowed)}")
    first = number % len(allowed) if case.workers == 1 else 0
    cpus = set(allowed[first : first + case.workers])
    more = dict(case.options)
    if case.build != NPTL:
        more |= {"PIRN_CPUS": str(case.workers), "PIRN_STATS": f"json:{stats}"}
    done = subprocess.run(
        [str(program_of(case, apps)), *case.args],
        env=environment_with(more),
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
        preexec_fn=lambda: os.sched_setaffinity(0, cpus),
    )
    if done.returncode != 0:
        said = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
        raise UserError(" ".join(said) or f"status {done.returncode}")
    values = {name: float(text) for name, text in NUMBER.findall(done.stdout)}
    if case.build != NPTL:
        values |= counters_of(json.loads(stats.read_text()))
        if "seconds" in values:
            derive(values, case.workers)
    return values


def measure(
    groups: Sequence[Sequence[Case]],
    apps: Path,
    rounds: int,
    timeout: float,
    stats: Path,
    step: Callable[[str], None],
) -> Measured:
    """Paired rounds; a case that has failed is not repeated."""
    measured = Measured()
    for number in range(1, rounds + 1):
        for group in groups:
            for case in rotated(group, number):
                step(f"{case.part} {case.row}: {case.system} {case.workers}")
                if case.key in measured.failed:
                    continue
                try:
                    values = run_case(case, apps, number, timeout, stats)
                except subprocess.TimeoutExpired:
                    measured.failed[case.key] = f"over {timeout:.0f} s"
                except UserError as error:
                    measured.failed[case.key] = error.message
                else:
                    measured.values.setdefault(case.key, {})[number] = values
    return measured


def write_csv(path: Path, measured: Measured) -> None:
    """A line for each number."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["part", "row", "system", "workers", "build", "round", "name", "value"])
        for key, rounds in measured.values.items():
            for number, values in rounds.items():
                for name, value in values.items():
                    writer.writerow([*key, number, name, f"{value:.10g}"])
