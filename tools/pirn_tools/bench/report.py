# SPDX-License-Identifier: MIT
"""A suite's samples as CSV, table and plot."""

from __future__ import annotations

import csv
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from rich.table import Table

from pirn_tools.bench.runner import Sample
from pirn_tools.errors import UserError
from pirn_tools.plotting import figure


@dataclass(frozen=True)
class Cell:
    """One peer in one row."""

    median: float
    best: float
    ratio: float | None  # median of the paired ratios to the baseline


def names(samples: Sequence[Sample], field: str) -> list[str]:
    """Rows or peers in the order in which they first appear."""
    return list(dict.fromkeys(str(getattr(sample, field)) for sample in samples))


def cell(samples: Sequence[Sample], row: str, peer: str, baseline: str) -> Cell | None:
    own = {s.round: s.value for s in samples if s.row == row and s.peer == peer}
    base = {s.round: s.value for s in samples if s.row == row and s.peer == baseline}
    if not own:
        return None
    ratios = [own[number] / base[number] for number in own if base.get(number)]
    return Cell(
        median=statistics.median(own.values()),
        best=min(own.values()),
        ratio=statistics.median(ratios) if ratios else None,
    )


def write_csv(path: Path, samples: Sequence[Sample]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, [field.name for field in fields(Sample)])
        writer.writeheader()
        writer.writerows(asdict(sample) for sample in samples)


def read_csv(path: Path) -> list[Sample]:
    """Read the file of write_csv: figures are made from it again without measuring."""
    try:
        with path.open(newline="") as stream:
            return [_sample(line) for line in csv.DictReader(stream)]
    except (KeyError, ValueError, TypeError) as error:
        raise UserError(f"{path} is not a file of pirn bench: {error!r}") from None


def _sample(line: dict[str, str]) -> Sample:
    return Sample(
        suite=line["suite"],
        row=line["row"],
        unit=line["unit"],
        peer=line["peer"],
        round=int(line["round"]),
        value=float(line["value"]),
    )


def table(samples: Sequence[Sample], baseline: str) -> Table:
    made = Table(
        header_style="bold",
        caption=f"median (paired ratio to {baseline})",
        caption_justify="left",
    )
    made.add_column("row", no_wrap=True)
    peers = names(samples, "peer")
    for peer in peers:
        made.add_column(peer, justify="right")
    for row in names(samples, "row"):
        unit = next(sample.unit for sample in samples if sample.row == row)
        cells = [_cell_text(cell(samples, row, peer, baseline)) for peer in peers]
        made.add_row(f"{row} [{unit}]".replace("[", r"\["), *cells)
    return made


def _cell_text(value: Cell | None) -> str:
    if value is None:
        return "-"
    ratio = "" if value.ratio is None else f" ({value.ratio:.3g})"
    return f"{value.median:,.4g}{ratio}"


def write_plot(path: Path, samples: Sequence[Sample], baseline: str) -> None:
    """Groups of bars, one group a row: medians on a logarithmic scale, whiskers to the best."""
    rows, peers = names(samples, "row"), names(samples, "peer")
    units = "/".join(names(samples, "unit"))
    with figure(path, width=max(8.0, 1.2 * len(rows)), height=5.0) as axes:
        width = 0.8 / len(peers)
        for index, peer in enumerate(peers):
            cells = [(at, cell(samples, row, peer, baseline)) for at, row in enumerate(rows)]
            places = [at + (index - (len(peers) - 1) / 2) * width for at, one in cells if one]
            medians = [one.median for _, one in cells if one]
            downward = [one.median - one.best for _, one in cells if one]
            errors = [downward, [0.0] * len(downward)]
            axes.bar(places, medians, width, label=peer, yerr=errors, zorder=2)
        axes.set_yscale("log")
        axes.set_xticks(range(len(rows)), rows, rotation=30, ha="right")
        axes.set_ylabel(f"{units}, median of the rounds (whisker: best)")
        axes.grid(axis="y", alpha=0.3, zorder=0)
        axes.legend(fontsize="small", ncols=min(len(peers), 6))
        axes.set_title(samples[0].suite)
