# SPDX-License-Identifier: MIT
"""bench/suites.toml: which benchmark programs there are and how to run them.

    [suite.micro]
    help = "one line"
    rounds = 7                        # paired rounds
    baseline = "nptl"                 # the peer that ratios are relative to
    result = "ns_per_op"              # the program prints ns_per_op=12.3; default "ns"

    [suite.micro.peers]               # command of each peer; {bench} {apps} {build} {root} and
    pirn = "{bench}/micro-pirn {args}"  # {args} (of the row), {row} (its name) are filled in
    nptl = "{bench}/micro-nptl {args}"
    steal = { command = "{bench}/micro-pirn {args}", env = { PIRN_SCHED = "steal" } }
    pth = { command = "{bench}/micro-pth {args}", rows = ["yield"] }

    [suite.micro.rows]
    yield = "yield --workers 1"       # the row's arguments
    barrier = { args = "barrier 64", unit = "ns", help = "64 threads", result = "ns_per_round" }

A peer leaves rows out with `rows`, or its program ends with status 77 where it has none.
Peers whose program is not built are left out, and said so.
"""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pirn_tools.errors import UserError, did_you_mean, listing


@dataclass(frozen=True)
class Peer:
    """One contender of a suite."""

    name: str
    command: str
    env: Mapping[str, str]
    rows: tuple[str, ...] | None  # None: all

    def argv(self, places: Mapping[str, str], row: Row) -> list[str]:
        fields = {**places, "row": row.name}
        words: list[str] = []
        for word in shlex.split(self.command):
            words += shlex.split(row.args) if word == "{args}" else [word.format_map(fields)]
        return words


@dataclass(frozen=True)
class Row:
    """One measurement of a suite."""

    name: str
    args: str
    unit: str
    help: str
    result: str  # the key before = in what the program prints


@dataclass(frozen=True)
class Suite:
    """Rows times peers."""

    name: str
    help: str
    rounds: int
    baseline: str
    peers: tuple[Peer, ...]
    rows: tuple[Row, ...]

    def peers_of(self, row: Row) -> list[Peer]:
        return [peer for peer in self.peers if peer.rows is None or row.name in peer.rows]


def load_suites(path: Path) -> dict[str, Suite]:
    """All suites of the file; a mistake in it is named."""
    try:
        raw = tomllib.loads(path.read_text())
    except FileNotFoundError:
        raise UserError(f"{path} is missing: there are no benchmark suites") from None
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{path}: {error}") from None
    suites: dict[str, Suite] = {}
    for name, entry in raw.get("suite", {}).items():
        try:
            suites[name] = _suite(name, entry)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise UserError(f"{path}: suite {name}: {error!r}") from None
    return suites


def choose(suites: Mapping[str, Suite], names: tuple[str, ...]) -> list[Suite]:
    """The named suites, or all."""
    for name in names:
        if name not in suites:
            hint = did_you_mean(name, suites)
            raise UserError(f'no suite "{name}"{hint} (valid: {listing(list(suites))})', status=2)
    return [suites[name] for name in names or suites]


def _suite(name: str, entry: Mapping[str, Any]) -> Suite:
    result = str(entry.get("result", "ns"))
    peers = tuple(_peer(key, value) for key, value in entry["peers"].items())
    return Suite(
        name=name,
        help=str(entry.get("help", "")),
        rounds=int(entry.get("rounds", 5)),
        baseline=str(entry.get("baseline", peers[0].name)),
        peers=peers,
        rows=tuple(_row(key, value, result) for key, value in entry["rows"].items()),
    )


def _peer(name: str, entry: str | Mapping[str, Any]) -> Peer:
    if isinstance(entry, str):
        return Peer(name, entry, {}, None)
    environment = {key: str(value) for key, value in entry.get("env", {}).items()}
    rows = tuple(entry["rows"]) if "rows" in entry else None
    return Peer(name, str(entry["command"]), environment, rows)


def _row(name: str, entry: str | Mapping[str, Any], result: str) -> Row:
    if isinstance(entry, str):
        return Row(name, entry, "ns", "", result)
    return Row(
        name=name,
        args=str(entry.get("args", name)),
        unit=str(entry.get("unit", "ns")),
        help=str(entry.get("help", "")),
        result=str(entry.get("result", result)),
    )
