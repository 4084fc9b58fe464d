# SPDX-License-Identifier: MIT
"""Tables as Markdown, for the terminal and the report alike, and as CSV."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

from pirn_tools.bench.runner import Sample

from harness.summary import OURS, Line, values

SUMMARY = ["row", "unit", "system", "median", "best", "samples", "best_peer", "ratio_to_best"]
SUMMARY += ["floor", "multiple", "best_multiple", "goal"]


def number(value: float | None) -> str:
    """Three digits, which is the precision of these measurements."""
    if value is None:
        return "-"
    if value >= 1e6:
        return f"{value / 1e6:.3g} M"
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def markdown(header: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    widths = [max(len(line[at]) for line in (header, *body)) for at in range(len(header))]

    def text(cells: Sequence[str]) -> str:
        padded = [cells[0].ljust(widths[0])]
        padded += [cell.rjust(width) for cell, width in zip(cells[1:], widths[1:], strict=True)]
        return f"| {' | '.join(padded)} |"

    rule = [":" + "-" * (widths[0] - 1), *("-" * (width - 1) + ":" for width in widths[1:])]
    return "\n".join([text(header), f"| {' | '.join(rule)} |", *(text(line) for line in body)])


def systems(lines: Sequence[Line]) -> list[str]:
    """The systems in the order of the row that has most of them."""
    fullest = max(lines, key=lambda line: len(line.medians))
    return list(dict.fromkeys(peer for line in (fullest, *lines) for peer in line.medians))


def medians_table(lines: Sequence[Line]) -> str:
    peers = systems(lines)
    header = ["row", *peers]
    body = []
    for line in lines:
        unit = "" if line.unit == "ns" else f" [{line.unit}]"
        body.append([line.row + unit, *(number(line.medians.get(peer)) for peer in peers)])
    return markdown(header, body)


def ratios_table(lines: Sequence[Line]) -> str:
    """Ours against the best peer: median of the paired ratios; below 1 is faster."""
    ours = [peer for peer in OURS if any(peer in line.ratios for line in lines)]
    body = [
        [line.row, line.best_peer or "-", *(number(line.ratios.get(peer)) for peer in ours)]
        for line in lines
    ]
    return markdown(["row", "best peer", *(f"{peer} / best" for peer in ours)], body)


def goals_table(lines: Sequence[Line]) -> str:
    header = ["row", "system", "median", "multiple", "best", "goal", "of", "met"]
    body = []
    for line in lines:
        for target in line.targets:
            met = {None: "?", True: "yes", False: "no"}[target.met]
            body.append(
                [
                    line.row,
                    target.system,
                    number(line.medians[target.system]),
                    f"{number(target.multiple)} x",
                    f"{number(target.best)} x",
                    f"{number(target.wanted)} x",
                    target.unit,
                    met + (" *" if target.note else ""),
                ]
            )
    return markdown(header, body)


def floor_table(floor: Mapping[str, float]) -> str:
    return markdown(["floor", "ns"], [[row, number(value)] for row, value in floor.items()])


def write_summary(path: Path, lines: Sequence[Line], samples: Sequence[Sample]) -> None:
    """One line for each row and system."""
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(SUMMARY)
        for line in lines:
            for peer, median in line.medians.items():
                own = values(samples, line.row, peer).values()
                target = next((t for t in line.targets if t.system == peer), None)
                writer.writerow(
                    [
                        line.row,
                        line.unit,
                        peer,
                        f"{median:.4g}",
                        f"{min(own):.4g}",
                        len(own),
                        line.best_peer or "",
                        _plain(line.ratios.get(peer)),
                        _plain(line.floor),
                        _plain(target.multiple if target else None),
                        _plain(target.best if target else None),
                        _plain(target.wanted if target else None),
                    ]
                )


def _plain(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


def gaps(reasons: Mapping[tuple[str, str], str]) -> list[str]:
    """Reasons, each with the rows that share it."""
    rows: dict[tuple[str, str], list[str]] = {}
    for (row, peer), why in reasons.items():
        rows.setdefault((peer, why), []).append(row)
    return [f"{peer}: {why} ({', '.join(own)})" for (peer, why), own in rows.items()]
