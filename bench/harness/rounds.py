# SPDX-License-Identifier: MIT
"""Paired rounds: in each one every system does every row once, in an order that rotates.

Unlike `pirn bench` this goes on when a program fails, hangs or has no such row, and keeps why:
a gap in the table is to be explained.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from pirn_tools.bench.runner import STATUS_SKIP, Sample, built
from pirn_tools.bench.suites import Peer, Row, Suite

T = TypeVar("T")

TIMEOUT_SECONDS = 60.0
SKIPPED = re.compile(r"^# skipped: (?:.*?: )?(.*)$", re.MULTILINE)


@dataclass
class Outcome:
    """All samples; for each (row, peer) without samples, the reason."""

    samples: list[Sample] = field(default_factory=list)
    skipped: dict[tuple[str, str], str] = field(default_factory=dict)
    failed: dict[tuple[str, str], str] = field(default_factory=dict)

    def gone(self, rows: Sequence[Row], peer: Peer) -> bool:
        key = (rows[0].name, peer.name)
        return key in self.skipped or key in self.failed


def grouped(rows: Sequence[Row]) -> list[list[Row]]:
    """Groups rows that one execution produces (the percentiles of a latency)."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.args, []).append(row)
    return list(groups.values())


def rotated(things: Sequence[T], number: int) -> list[T]:
    """The order of a round."""
    shift = number % len(things) if things else 0
    return [*things[shift:], *things[:shift]]


# Variables of the tools, not options of the library, which would reject them.
TOOLS_OWN = ("PIRN_BUILD", "PIRN_LIBRARY", "PIRN_APPS")


def environment_with(more: Mapping[str, str]) -> dict[str, str]:
    own = {key: value for key, value in os.environ.items() if key not in TOOLS_OWN}
    return {**own, **more}


def execute(peer: Peer, row: Row, places: Mapping[str, str]) -> tuple[int, str]:
    """Exit status and output; a program that hangs or dies has a status of its own."""
    try:
        done = subprocess.run(
            peer.argv(places, row),
            env=environment_with(peer.env),
            capture_output=True,
            text=True,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return 124, f"over {TIMEOUT_SECONDS:.0f} s"
    if done.returncode in (0, STATUS_SKIP):
        return done.returncode, done.stdout
    said = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
    return done.returncode, " ".join([f"status {done.returncode}", *said])


def take(
    outcome: Outcome,
    suite: Suite,
    rows: Sequence[Row],
    peer: Peer,
    number: int,
    places: Mapping[str, str],
) -> None:
    """One execution: a sample for each of the rows, or a reason."""
    status, output = execute(peer, rows[0], places)
    if status == STATUS_SKIP:
        match = SKIPPED.search(output)
        why = match[1] if match else "no such row"
        outcome.skipped.update({(row.name, peer.name): why for row in rows})
        return
    for row in rows:
        found = re.findall(rf"\b{re.escape(row.result)}=([-+0-9.eE]+)", output)
        if status == 0 and found:
            value = float(found[-1])
            outcome.samples.append(Sample(suite.name, row.name, row.unit, peer.name, number, value))
        else:
            outcome.failed[row.name, peer.name] = output if status else f"no {row.result}="


@dataclass(frozen=True)
class Job:
    """Rows that one execution produces, and the program that runs them."""

    suite: Suite
    rows: list[Row]
    peers: list[Peer]


def jobs_of(
    suites: Sequence[Suite],
    wanted_rows: Sequence[str],
    wanted_peers: Sequence[str],
    places: Mapping[str, str],
) -> list[Job]:
    """Jobs for the requested rows and peers (no names: all) that are built."""
    jobs = []
    for suite in suites:
        for rows in grouped([r for r in suite.rows if not wanted_rows or r.name in wanted_rows]):
            peers = [p for p in suite.peers_of(rows[0]) if built(p, rows[0], places)]
            jobs.append(
                Job(suite, rows, [p for p in peers if not wanted_peers or p.name in wanted_peers])
            )
    return jobs


def run_rounds(
    jobs: Sequence[Job], rounds: int, places: Mapping[str, str], step: Callable[[str], None]
) -> Outcome:
    """Run the rounds; each runs all jobs of all suites."""
    outcome = Outcome()
    for number in range(1, rounds + 1):
        for job in jobs:
            for peer in rotated(job.peers, number):
                step(f"{job.rows[0].name}: {peer.name}")
                if not outcome.gone(job.rows, peer):
                    take(outcome, job.suite, job.rows, peer, number, places)
    return outcome
