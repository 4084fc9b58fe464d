# SPDX-License-Identifier: MIT
"""Many runs of the chip: several at once, each done once.

The output of a run and its counters are kept in a folder, in a file for each run. The file's name
is a hash of all that decides the result: the simulator (whose own name has a hash of the RTL), the
program, its command line and files, the options. A sweep that was interrupted continues.
"""

from __future__ import annotations

import concurrent.futures
import dataclasses
import hashlib
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from pirn_tools.chip import build
from pirn_tools.chip.config import Config
from pirn_tools.errors import UserError

PROGRESS = (
    TextColumn("{task.description}"),
    BarColumn(),
    MofNCompleteColumn(),
    TimeElapsedColumn(),
)
Item = TypeVar("Item", bound=Hashable)
Made = TypeVar("Made")


def at_once(
    items: Sequence[Item], work: Callable[[Item], Made], title: str, jobs: int, console: Console
) -> dict[Item, Made]:
    """What `work` makes of each item, `jobs` at a time. After the first that fails no other one
    begins."""
    failures: list[BaseException] = []

    def begin(item: Item) -> Made:
        if failures:
            raise concurrent.futures.CancelledError
        try:
            return work(item)
        except BaseException as error:
            failures.append(error)
            raise

    with (
        Progress(*PROGRESS, console=console) as progress,
        concurrent.futures.ThreadPoolExecutor(jobs) as pool,
    ):
        task = progress.add_task(title, total=len(items))
        futures = {pool.submit(begin, item): item for item in items}
        made = {}
        try:
            for future in concurrent.futures.as_completed(futures):
                made[futures[future]] = future.result()
                progress.advance(task)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            if failures:
                raise failures[0] from None
            raise
    return made


@dataclass(frozen=True)
class Run:
    """A program on a chip."""

    program: Path
    config: Config
    latency: int = 8
    options: tuple[str, ...] = ()  # of `pirn chip run`
    settings: tuple[str, ...] = ()  # NAME=VALUE of the program's environment
    words: tuple[str, ...] = ()  # its arguments
    files: tuple[Path, ...] = ()  # that it reads
    writes: Path | None = None  # the run is made again if this file of it is missing

    @property
    def title(self) -> str:
        parts = [self.program.stem, self.config.name, f"latency {self.latency}"]
        return " ".join([*parts, *self.options, *self.settings])


@dataclass(frozen=True)
class Result:
    output: str
    counters: dict[str, Any]  # what --counters writes
    seconds: float = 0  # of the simulation

    @property
    def cycles(self) -> int:
        return int(self.counters["cycles"])

    def total(self, cause: str) -> int:
        """Cycles of all hardware threads with this cause."""
        return sum(int(hart[cause]) for hart in self.counters["harts"])


class Sweep:
    """Results of runs, kept in `folder`."""

    def __init__(self, root: Path, folder: Path, jobs: int) -> None:
        self.root = root
        self.folder = folder
        self.jobs = jobs

    def run(self, runs: Sequence[Run], console: Console) -> dict[Run, Result]:
        """All of them. The first that fails ends the sweep; the others are kept."""
        runs = list(dict.fromkeys(runs))
        for config in dict.fromkeys(run.config for run in runs):
            build.simulator(self.root, config)
        self.folder.mkdir(parents=True, exist_ok=True)
        return at_once(runs, self.one, "runs of the chip", self.jobs, console)

    def one(self, run: Run) -> Result:
        """From its file, or by a run."""
        simulator = build.simulator(self.root, run.config)
        path = self.folder / f"{key(simulator, run)}.json"
        if not path.exists() or (run.writes is not None and not run.writes.exists()):
            self._keep(path, run, self._simulate(simulator, run))
        kept = json.loads(path.read_text())
        return Result(kept["output"], kept["counters"], kept.get("seconds", 0))

    @staticmethod
    def _simulate(simulator: Path, run: Run) -> Result:
        with tempfile.TemporaryDirectory(prefix="pirn-chip-") as folder:
            counters = Path(folder) / "counters.json"
            line = [str(simulator), "--semihosting", "--latency", str(run.latency), *run.options]
            line += ["--counters", str(counters), "--", str(run.program)]
            line += [*run.settings, run.program.stem, *run.words]
            began = time.monotonic()
            done = subprocess.run(line, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                said = (done.stdout + done.stderr)[-2000:]
                raise UserError(
                    f"{' '.join([run.title, *run.words])}: status {done.returncode}\n{said}"
                )
            seconds = time.monotonic() - began
            return Result(done.stdout, json.loads(counters.read_text()), seconds)

    @staticmethod
    def _keep(path: Path, run: Run, result: Result) -> None:
        kept = {"run": run.title, "words": run.words} | dataclasses.asdict(result)
        text = json.dumps(kept, indent=1)
        part = path.with_suffix(f".{os.getpid()}.part")
        part.write_text(text)
        part.rename(path)


def key(simulator: Path, run: Run) -> str:
    """Of all that decides the result."""
    digest = hashlib.sha256()
    for word in (simulator.parent.name, run.title, *run.words):
        digest.update(word.encode() + b"\0")
    for path in (run.program, *run.files):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:24]
