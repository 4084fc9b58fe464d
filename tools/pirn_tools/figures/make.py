# SPDX-License-Identifier: MIT
"""Runs the programs of a set of figures with their traces on, and draws the pictures."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pirn_tools.errors import UserError
from pirn_tools.figures import latecomers
from pirn_tools.figures.plan import LOAD, TICKS, Picture, Run, Set
from pirn_tools.paths import short
from pirn_tools.trace import plot
from pirn_tools.trace.model import Model, build
from pirn_tools.trace.read import load

SECONDS = 120  # for a run of three
TRACE_SIZE = "8M"  # for each CPU: no event is lost
WIDTH = 9.0  # inches: a page shows it without shrinking labels much


@dataclass(frozen=True)
class Programs:
    """The program of a run, in a build."""

    build: Path

    def app(self, run: Run) -> Path:
        return self.build / "apps" / f"{run.program}-pirn"

    @property
    def latecomers(self) -> Path:
        return self.build / "tests" / "sim" / "pirn-latecomers"

    def check(self, wanted: Set) -> None:
        """All at once: a user who builds one builds the others, too."""
        needed = {self.app(run) for run in wanted.runs}
        if any(_is_ticks(item.picture) for item in wanted.items):
            needed.add(self.latecomers)
        missing = sorted(short(path) for path in needed if not os.access(path, os.X_OK))
        if missing:
            raise UserError(f"not built: {', '.join(missing)}; build first (make build-release)")


def _is_ticks(picture: Picture | None) -> bool:
    return picture is not None and picture.kind == TICKS


def settings(run: Run, tick: int) -> dict[str, str]:
    """The options of the runtime for this run, as `pirn run` calls them."""
    return {
        "sched": run.sched,
        "cpus": str(run.cpus),
        "preempt": "1",
        "tick": str(tick),
        "slice": str(tick),
    }


def command(run: Run, tick: int, is_short: bool) -> str:
    """The command that does the same by hand."""
    options = " ".join(f"--{name} {value}" for name, value in settings(run, tick).items())
    arguments = " ".join(run.arguments(is_short))
    return f"pirn trace record {options} -- build/release/apps/{run.program}-pirn {arguments}"


def record(run: Run, programs: Programs, traces: Path, tick: int, is_short: bool) -> Model:
    """The run's trace; of several tries the shortest, which keeps the file."""
    output, another = traces / f"{run.name}.trace", traces / f"{run.name}.try"
    best = _record_once(run, programs, output, tick, is_short)
    for _ in range(run.tries - 1):
        made = _record_once(run, programs, another, tick, is_short)
        if made.end < best.end:
            best = made
            another.replace(output)
    another.unlink(missing_ok=True)
    return best


def _record_once(run: Run, programs: Programs, output: Path, tick: int, is_short: bool) -> Model:
    output.unlink(missing_ok=True)
    # Options of the user's own must not slip in.
    environment = {name: text for name, text in os.environ.items() if name[:5] != "PIRN_"}
    for name, value in settings(run, tick).items():
        environment[f"PIRN_{name.upper()}"] = value
    environment |= {"PIRN_TRACE": str(output.resolve()), "PIRN_TRACESIZE": TRACE_SIZE}
    _execute([str(programs.app(run)), *run.arguments(is_short)], environment)
    if not output.exists():
        raise UserError(f"{programs.app(run).name} has written no trace: is it built with Pirn?")
    trace = load(output)
    if trace.lost:
        raise UserError(f"run {run.name}: {trace.lost:,} events are lost ({TRACE_SIZE} for a CPU)")
    return build(trace)


def _execute(arguments: list[str], environment: Mapping[str, str]) -> None:
    text = " ".join([Path(arguments[0]).name, *arguments[1:]])
    try:
        done = subprocess.run(
            arguments, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise UserError(f"{text} hangs ({SECONDS} s)") from None
    except OSError as error:
        raise UserError(f"cannot run {arguments[0]}: {error.strerror}") from None
    if done.returncode != 0:
        last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
        raise UserError("\n".join([f"status {done.returncode}: {text}", *last]))


def run_all(
    wanted: Set, programs: Programs, traces: Path, is_short: bool, step: Callable[[str], None]
) -> dict[str, Model]:
    """All runs, by name."""
    traces.mkdir(parents=True, exist_ok=True)
    models = {}
    for run in wanted.runs:
        step(run.name)
        models[run.name] = record(run, programs, traces, wanted.tick, is_short)
    return models


def file_of(wanted: Set, picture: Picture) -> Path:
    """Where a picture is, from the folder of the page."""
    return Path("img") / f"{wanted.name}-{picture.file}.png"


def draw(picture: Picture, model: Model, output: Path) -> None:
    """A picture of a trace."""
    first = _moment(model, picture.begin, min)
    last = _moment(model, picture.end, max)
    part = plot.window(model, first, last)
    if picture.kind == LOAD:
        plot.load(model, output, part, WIDTH)
    else:
        plot.timeline(model, output, part, WIDTH, picture.events)


def _moment(model: Model, event: str, which: Callable[[Iterable[int]], int]) -> float | None:
    rows = model.trace.which(event) if event else ()
    return which(model.ns[rows].tolist()) / 1e6 if len(rows) else None


def draw_ticks(panel: latecomers.Panel, output: Path) -> None:
    """A picture of who runs in each tick."""
    latecomers.draw(output, [panel], height=2.6)
