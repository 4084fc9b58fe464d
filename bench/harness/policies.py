# SPDX-License-Identifier: MIT
"""macro/policies.toml: applications under policies and numbers of workers."""

from __future__ import annotations

import csv
import json
import re
import shlex
import statistics
import subprocess
import tempfile
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from pirn_tools.errors import UserError

from harness.rounds import TIMEOUT_SECONDS, environment_with, rotated
from harness.tables import markdown

NPTL = "nptl"


@dataclass(frozen=True)
class App:
    """A program and its arguments."""

    name: str
    program: str
    args: str
    unit: str
    finding: str


@dataclass(frozen=True)
class Plan:
    """The whole table."""

    workers: tuple[int, ...]
    policies: Mapping[str, str]
    measure: str
    apps: tuple[App, ...]


@dataclass(frozen=True)
class Run:
    """One execution."""

    app: str
    policy: str
    workers: int  # 0: all CPUs, as NPTL has it
    round: int
    seconds: float
    idle_share: float | None  # of the workers' time; unknown for NPTL
    checksum: str


@dataclass(frozen=True)
class Setting:
    """A policy with a number of workers."""

    policy: str
    workers: int
    environment: Mapping[str, str]


def load_plan(path: Path) -> Plan:
    raw: dict[str, Any] = tomllib.loads(path.read_text())
    return Plan(
        workers=tuple(raw["workers"]),
        policies=raw["policies"],
        measure=raw["measure"]["sched"],
        apps=tuple(App(**entry) for entry in raw["app"]),
    )


def execute(program: Path, app: App, clip: Path, environment: Mapping[str, str]) -> str:
    command = [str(program), *shlex.split(app.args.replace("{clip}", str(clip)))]
    try:
        done = subprocess.run(
            command,
            env=environment_with(environment),
            capture_output=True,
            text=True,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise UserError(f"{app.name} {dict(environment)}: over {TIMEOUT_SECONDS:.0f} s") from None
    if done.returncode != 0:
        raise UserError(f"{app.name} {dict(environment)}: {(done.stderr or done.stdout).strip()}")
    return done.stdout


def settings_of(plan: Plan, app: App, place: Path) -> list[Setting]:
    """NPTL last: it is the yardstick, not a contender."""
    made = [
        Setting(
            name,
            workers,
            {
                "PIRN_SCHED": spec.format(place=place, unit=app.unit),
                "PIRN_CPUS": str(workers),
            },
        )
        for workers in plan.workers
        for name, spec in plan.policies.items()
    ]
    return [*made, Setting(NPTL, 0, {})]


def run_one(setting: Setting, app: App, apps: Path, clip: Path, stats: Path, number: int) -> Run:
    system = "nptl" if setting.policy == NPTL else "pirn"
    environment = dict(setting.environment)
    if system == "pirn":
        environment["PIRN_STATS"] = f"json:{stats}"
    output = execute(apps / f"{app.program}-{system}", app, clip, environment)
    found = {key: re.search(rf"\b{key}=(\S+)", output) for key in ("seconds", "checksum")}
    seconds, checksum = found["seconds"], found["checksum"]
    if not seconds or not checksum:
        raise UserError(f"{app.name} printed no seconds= or checksum=")
    idle = None
    if system == "pirn":
        counters = json.loads(stats.read_text())
        idle = counters["idle_ns"] / (counters["wall_ns"] * counters["cpus"])
    return Run(
        app.name,
        setting.policy,
        setting.workers,
        number,
        float(seconds[1]),
        idle,
        checksum[1],
    )


def measure_loads(plan: Plan, app: App, apps: Path, clip: Path, place: Path) -> None:
    """The run on one worker from which the pinned policies place their threads."""
    spec = plan.measure.format(place=place, unit=app.unit)
    environment = {"PIRN_SCHED": spec, "PIRN_CPUS": "1"}
    execute(apps / f"{app.program}-pirn", app, clip, environment)


def run_plan(
    plan: Plan, apps: Path, clip: Path, rounds: int, step: Callable[[str], None]
) -> list[Run]:
    """Paired rounds; every result must be the same."""
    runs: list[Run] = []
    with tempfile.TemporaryDirectory(prefix="pirn-bench-") as scratch:
        places = {app.name: Path(scratch) / f"{app.name}.place" for app in plan.apps}
        for app in plan.apps:
            measure_loads(plan, app, apps, clip, places[app.name])
        for number in range(1, rounds + 1):
            for app in plan.apps:
                for setting in rotated(settings_of(plan, app, places[app.name]), number):
                    step(f"{app.name} {setting.policy} {setting.workers or ''}")
                    stats = Path(scratch) / "stats.json"
                    runs.append(run_one(setting, app, apps, clip, stats, number))
    for app in plan.apps:
        sums = {run.checksum for run in runs if run.app == app.name}
        if len(sums) > 1:
            raise UserError(f"{app.name}: results differ: {', '.join(sorted(sums))}")
    return runs


def size(plan: Plan, rounds: int) -> int:
    return rounds * len(plan.apps) * (len(plan.workers) * len(plan.policies) + 1)


def write_runs(path: Path, runs: Sequence[Run]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, [field.name for field in fields(Run)])
        writer.writeheader()
        writer.writerows(asdict(run) for run in runs)


def median(runs: Sequence[Run], policy: str, workers: int, idle: bool = False) -> float:
    own = [r for r in runs if (r.policy, r.workers) == (policy, workers)]
    return statistics.median((r.idle_share or 0.0) if idle else r.seconds for r in own)


def app_table(plan: Plan, app: App, runs: Sequence[Run]) -> str:
    """Milliseconds, idle share, and the fastest policy for this number of workers."""
    own = [run for run in runs if run.app == app.name]
    names = list(plan.policies)
    body = []
    for workers in plan.workers:
        times = {name: median(own, name, workers) for name in names}
        cells = [
            f"{1e3 * times[name]:.1f} ({median(own, name, workers, idle=True):.0%})"
            for name in names
        ]
        body.append([str(workers), *cells, min(names, key=lambda name: times[name])])
    nptl = f"NPTL, all CPUs: {1e3 * median(own, NPTL, 0):.1f} ms"
    return "\n\n".join([markdown(["workers", *names, "fastest"], body), f"{nptl}. {app.finding}."])
