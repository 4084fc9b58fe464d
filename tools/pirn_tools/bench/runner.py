# SPDX-License-Identifier: MIT
"""Runs a suite: every round takes every row and, within it, every peer in a new order."""

from __future__ import annotations

import os
import random
import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pirn_tools.bench.suites import Peer, Row, Suite
from pirn_tools.errors import UserError

STATUS_SKIP = 77
TIMEOUT_SECONDS = 600.0


@dataclass(frozen=True)
class Sample:
    """One number."""

    suite: str
    row: str
    unit: str
    peer: str
    round: int
    value: float


def jobs_of(
    suite: Suite, peers: Sequence[str], rows: Sequence[str]
) -> list[tuple[Row, list[Peer]]]:
    """Rows with their peers, cut down to the wanted names (empty: all)."""
    chosen = [row for row in suite.rows if not rows or row.name in rows]
    return [
        (row, [peer for peer in suite.peers_of(row) if not peers or peer.name in peers])
        for row in chosen
    ]


def built(peer: Peer, row: Row, places: Mapping[str, str]) -> bool:
    """Whether the peer's program exists (a peer's package may be missing on this machine)."""
    program = peer.argv(places, row)[0]
    return os.sep not in program or os.access(program, os.X_OK)


def run_rounds(
    suite: Suite,
    jobs: Sequence[tuple[Row, list[Peer]]],
    rounds: int,
    places: Mapping[str, str],
    step: Callable[[str], None],
) -> list[Sample]:
    """All samples. Peers that skip a row (status 77) are not asked again for it."""
    samples: list[Sample] = []
    skipped: set[tuple[str, str]] = set()
    for number in range(1, rounds + 1):
        for row, peers in jobs:
            for peer in random.sample(peers, len(peers)):
                step(f"{row.name}: {peer.name}")
                if (row.name, peer.name) in skipped:
                    continue
                value = run_once(peer, row, places)
                if value is None:
                    skipped.add((row.name, peer.name))
                else:
                    samples.append(Sample(suite.name, row.name, row.unit, peer.name, number, value))
    return samples


def run_once(peer: Peer, row: Row, places: Mapping[str, str]) -> float | None:
    """The program's result, None where it has no such row."""
    command = peer.argv(places, row)
    try:
        result = subprocess.run(
            command,
            env={**os.environ, **peer.env},
            capture_output=True,
            text=True,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise UserError(f"{' '.join(command)} hangs ({TIMEOUT_SECONDS:.0f} s)") from None
    if result.returncode == STATUS_SKIP:
        return None
    if result.returncode != 0:
        last = (result.stderr.strip() or result.stdout.strip()).splitlines()[-1:]
        raise UserError("\n".join([f"status {result.returncode}: {' '.join(command)}", *last]))
    found = re.findall(rf"\b{re.escape(row.result)}=([-+0-9.eE]+)", result.stdout)
    if not found:
        raise UserError(f"{' '.join(command)} printed no {row.result}=NUMBER")
    return float(found[-1])
