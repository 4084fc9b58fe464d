# SPDX-License-Identifier: MIT
"""The demo's results: paired ratios, the table, the CSV and the plot."""

from __future__ import annotations

import csv
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from rich.table import Table

from pirn_tools.demo.decode import NPTL, Result
from pirn_tools.plotting import figure

Round = dict[str, Result]
COLUMNS = (
    "wall time",
    "ratio to\nNPTL",
    "threads\ncreated",
    "switches",
    "steals or\nmigr.",
    "idle\nshare",
)


@dataclass(frozen=True)
class Row:
    """One line of the table: medians over the rounds."""

    name: str
    seconds: float
    ratio: float
    ratios: tuple[float, ...]
    threads: int
    switches: int | None
    moved: int | None  # steals where the policy steals, else migrations
    idle_share: float | None


def summarize(rounds: Sequence[Round]) -> list[Row]:
    """Each ratio pairs runs of the same round, so that a slow moment of the machine cancels."""
    return [_row(name, rounds) for name in rounds[0]]


def _row(name: str, rounds: Sequence[Round]) -> Row:
    results = [one[name] for one in rounds]
    ratios = tuple(one[name].seconds / one[NPTL].seconds for one in rounds)
    steals = _median([result.steals for result in results])
    migrations = _median([result.migrations for result in results])
    idle = [result.idle_share for result in results if result.idle_share is not None]
    return Row(
        name=name,
        seconds=statistics.median(result.seconds for result in results),
        ratio=statistics.median(ratios),
        ratios=ratios,
        threads=results[0].threads,
        switches=_median([result.switches for result in results]),
        moved=steals or migrations,
        idle_share=statistics.median(idle) if idle else None,
    )


def _median(values: Sequence[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return round(statistics.median(known)) if known else None


def table(rows: Sequence[Row], caption: str) -> Table:
    made = Table(header_style="bold", caption=caption, caption_justify="left")
    made.add_column("policy", no_wrap=True)
    for column in COLUMNS:
        made.add_column(column, justify="right")
    for row in rows:
        made.add_row(
            "NPTL (kernel)" if row.name == NPTL else row.name,
            f"{row.seconds * 1e3:.1f} ms",
            f"{row.ratio:.2f}",
            str(row.threads),
            _count(row.switches),
            _count(row.moved),
            "-" if row.idle_share is None else f"{row.idle_share:.0%}",
        )
    return made


def markdown(rows: Sequence[Row], about: str) -> str:
    """The same for the page of results, with what was decoded, and on what."""
    lines = [
        about,
        "",
        "| policy | wall time | ratio to NPTL | switches | steals or migrations | idle share |",
        "| --- | --: | --: | --: | --: | --: |",
    ]
    for row in rows:
        cells = (
            "NPTL (kernel)" if row.name == NPTL else row.name,
            f"{row.seconds * 1e3:.1f} ms",
            f"{row.ratio:.2f}",
            _count(row.switches),
            _count(row.moved),
            "-" if row.idle_share is None else f"{row.idle_share:.0%}",
        )
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _count(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"


def write_csv(path: Path, rounds: Sequence[Round]) -> None:
    """Every single run, so that other statistics can be made of it."""
    with path.open("w", newline="") as stream:
        names = [field.name for field in fields(Result)]
        writer = csv.DictWriter(stream, ["round", *names, "ratio"])
        writer.writeheader()
        for number, one in enumerate(rounds, start=1):
            for result in one.values():
                ratio = result.seconds / one[NPTL].seconds
                writer.writerow({"round": number, **asdict(result), "ratio": f"{ratio:.4f}"})


def write_plot(path: Path, rows: Sequence[Row], title: str) -> None:
    """Bars: median ratio to NPTL; dots: each round; figures: median wall time."""
    with figure(path, width=8.0, height=4.5) as axes:
        names = ["NPTL" if row.name == NPTL else row.name for row in rows]
        colors = ["0.6" if row.name == NPTL else "tab:blue" for row in rows]
        axes.bar(names, [row.ratio for row in rows], color=colors, width=0.6, zorder=2)
        for place, row in enumerate(rows):
            axes.plot([place] * len(row.ratios), row.ratios, "k.", alpha=0.5, zorder=3)
            axes.text(place, 0.02, f"{row.seconds * 1e3:.0f} ms", ha="center", color="white")
        axes.axhline(1.0, color="0.3", linewidth=0.8, linestyle="--", zorder=1)
        axes.set_ylabel("wall time relative to NPTL (lower is better)")
        axes.set_ylim(bottom=0)
        axes.set_title(title)
