# SPDX-License-Identifier: MIT
"""One run: the servers, their clients, samples of the servers, and what went wrong.

All that a run starts is started by a keeper, which ends it whatever happens.
"""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pirn_tools.soak import judge
from pirn_tools.soak.keeper import Keeper, ask_to_end
from pirn_tools.soak.loads import (
    LIMIT,
    SAID,
    SERVER_LOG,
    Load,
    LoadError,
    Place,
    Served,
    client_folder,
)
from pirn_tools.soak.processes import Sample, sample
from pirn_tools.world.compare import Script, free_port, last_line, verdict

WARM_UP = 0.1  # of the run, without latencies: compilers and caches
LONGEST_WARM_UP = 60.0  # seconds
MOST_TOLD = 5  # errors of one kind
JUDGED_FROM = 10.0  # minutes: in shorter runs Java still compiles in the second quarter

Step = Callable[[str], None]


@dataclass
class Result:
    """Of one server."""

    load: Load
    served: dict[str, Served] = field(default_factory=dict)
    samples: list[Sample] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def growth(self, what: str) -> judge.Growth | None:
        return judge.growth([float(getattr(one, what)) for one in self.samples])

    def judge(self, minutes: float) -> None:
        """Adds what grows to the failures."""
        if minutes < JUDGED_FROM:
            return
        steps = {
            "memory": ("memory", judge.MEMORY_STEP),
            "descriptors": ("the number of descriptors", judge.COUNT_STEP),
            "threads": ("the number of kernel threads", judge.COUNT_STEP),
        }
        for what, (name, step) in steps.items():
            found = self.growth(what)
            if found is not None and found.grows(step):
                self.failures.append(f"{name} grows by {found.share:.0%}")


@dataclass(frozen=True)
class Outcome:
    """Of all servers."""

    results: list[Result]
    control: Served | None = None  # how late the machine was: control.py


@dataclass(frozen=True)
class Plan:
    """What is the same for both runs."""

    loads: Sequence[Load]
    environment: Mapping[str, str]
    sources: Path
    every: float  # seconds between samples


class Running:
    """A server that runs, with its clients."""

    def __init__(self, load: Load, place: Place) -> None:
        self.result = Result(load)
        self.load = load
        self.place = place
        self.server: Script | None = None
        self.clients: list[Script] = []

    def start(self) -> None:
        self.load.prepare(self.place)
        self.server = self.place.start(self.load.command(self.place), SERVER_LOG)
        if not self.load.ready(self.place, self.server):
            how = "does not listen" if self.server.running() else "ends before it listens"
            raise LoadError(f"{how}: {last_line(self.place.folder / SERVER_LOG)}")

    def begin(self, seconds: float, warm_up: float) -> None:
        """Starts the clients."""
        for number, words in enumerate(self.load.clients(self.place, seconds, warm_up)):
            folder = client_folder(self.place, number)
            folder.mkdir()
            keeper, environment = self.place.keeper, self.place.environment
            self.clients.append(keeper.start(words, folder, environment, SAID))

    def look(self, seconds: float) -> bool:
        """Takes a sample; whether the server and its clients still run."""
        assert self.server is not None  # noqa: S101
        found = sample(self.server.child.pid, seconds)
        if found is None or not self.server.running():
            return False
        self.result.samples.append(found)
        return all(one.running() for one in self.clients)

    def end(self, warm_up: float) -> None:
        """After the load: what clients and server say, and the server's end."""
        assert self.server is not None  # noqa: S101
        alive = self.server.running()
        if not alive:
            self._fail(f"ends under load: {last_line(self.place.folder / SERVER_LOG)}")
        for number, one in enumerate(self.clients):
            self._fail(verdict(one.wait(LIMIT if alive else 0), self._said(number), "clients: "))
        try:
            self.result.served = self.load.served(self.place, warm_up)
            for problem in self.load.check(self.place) if alive else []:
                self._fail(problem)
        except LoadError as error:
            self._fail(str(error))
        for served in self.result.served.values():
            if served.failed:
                self._fail(f"{served.failed} errors: {'; '.join(served.errors[:MOST_TOLD])}")
        if alive:
            self._stop(self.server)
        for line in self.load.complaints(self.place)[:MOST_TOLD]:
            self._fail(f"its log: {line[:200]}")

    def _stop(self, server: Script) -> None:
        ask_to_end(server)
        ended = server.wait(LIMIT)
        if ended.status is None:
            self._fail("does not end after SIGTERM")
        elif ended.status not in (0, -signal.SIGTERM, 128 + signal.SIGTERM):
            self._fail(verdict(ended, self.place.folder / SERVER_LOG, "at its end "))

    def _fail(self, why: str) -> None:
        if why:
            self.result.failures.append(why)

    def _said(self, number: int) -> Path:
        return client_folder(self.place, number) / SAID


def run(
    plan: Plan, keeper: Keeper, folder: Path, pirn: tuple[str, ...], minutes: float, step: Step
) -> Outcome:
    """All servers for so many minutes. pirn: what stands before a command to run it on Pirn.

    The caller ends what the keeper has, whatever this raises.
    """
    seconds = minutes * 60
    warm_up = min(seconds * WARM_UP, LONGEST_WARM_UP)
    running: list[Running] = []
    for load in plan.loads:
        step(f"{load.name} starts")
        own = folder / load.name
        own.mkdir()
        environment = {**plan.environment, "PWD": str(own), "HOME": str(own)}
        place = Place(own, environment, free_port(), pirn, plan.sources, keeper)
        one = Running(load, place)
        running.append(one)
        try:
            one.start()
        except LoadError as error:
            one.result.failures.append(str(error))
            return Outcome([each.result for each in running])
    for one in running:
        one.begin(seconds, warm_up)
    control = folder / "control"
    control.mkdir()
    words = [sys.executable, "-m", "pirn_tools.soak.control", str(seconds), str(warm_up)]
    bystander = keeper.start(words, control, plan.environment, SAID)
    _watch(running, keeper, seconds, plan.every, step)
    for one in running:
        step(f"{one.load.name} ends")
        one.end(warm_up)
        one.result.judge(minutes)
    ask_to_end(bystander)
    bystander.wait(LIMIT)
    return Outcome([one.result for one in running], Served.read(control))


def _watch(
    running: Sequence[Running], keeper: Keeper, seconds: float, every: float, step: Step
) -> None:
    """Until the time is over, or something has ended before."""
    start = time.monotonic()
    number = 0
    while (passed := time.monotonic() - start) < seconds:
        keeper.look()
        looks = [one.look(passed) for one in running]
        if not all(looks) and seconds - passed > every:
            for one in running:
                for each in one.clients:
                    ask_to_end(each)
            return
        told = ", ".join(
            f"{one.load.name} {one.result.samples[-1].memory / 1e6:.1f} MB"
            for one in running
            if one.result.samples
        )
        step(f"{passed / 60:.1f} of {seconds / 60:g} minutes; {told}")
        number += 1
        time.sleep(max(0.0, min(start + number * every, start + seconds) - time.monotonic()))
