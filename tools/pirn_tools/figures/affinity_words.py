# SPDX-License-Identifier: MIT
"""Words and tables of the page of `pirn bench figures affinity`: comparisons by the size of the
buffers, and what the thesis says beside what was found."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pirn_tools.figures import markdown
from pirn_tools.figures.affinity_model import Point, Points, wavemix
from pirn_tools.figures.affinity_thesis import BUFFERS, improvement

SAME = 0.02  # a difference of 2 % is none
ABOUT = 0.05  # "about the same"

Value = Callable[[Point], float]


def sizes(which: Sequence[int]) -> str:
    """4, 8 and 16 KB."""
    if tuple(which) == tuple(BUFFERS):
        return "every size"
    return f"{markdown.joined([str(kb) for kb in which])} KB"


def share(part: float) -> str:
    return f"{100 * part:.0f} %"


def signed(part: float) -> str:
    if abs(part) < 0.0005:
        return "0.0 %"
    return f"{100 * part:+.0f} %" if abs(part) >= 0.095 else f"{100 * part:+.1f} %"


def span(values: Sequence[float]) -> str:
    """From the least to the most."""
    least, most = signed(min(values)), signed(max(values))
    return least if least == most else f"{least} to {most}"


@dataclass(frozen=True)
class Trend:
    """Where a value is larger than another one, and where it is smaller."""

    more: tuple[int, ...]
    less: tuple[int, ...]
    ratios: Mapping[int, float]

    @property
    def words(self) -> str:
        if not self.ratios:
            return "there are none"
        parts = [f"more with {sizes(self.more)}"] if self.more else []
        parts += [f"less with {sizes(self.less)}"] if self.less else []
        return "; ".join(parts) if parts else "the same with every size"

    @property
    def factors(self) -> str:
        """The ratio for each size; one without a value to compare with has none."""
        return ", ".join(f"{one:.2f}" for one in self.ratios.values()) or "-"

    def agrees(self, wanted: str) -> str:
        """wanted: more, less, or same. "mostly": in most sizes, against it in none."""
        if wanted == "same":
            return judged([abs(ratio - 1) <= ABOUT for ratio in self.ratios.values()])
        right, wrong = (self.more, self.less) if wanted == "more" else (self.less, self.more)
        if not self.ratios:
            return "not modelled"
        if len(right) == len(self.ratios):
            return "yes"
        if not right:
            return "no"
        if len(wrong) > len(right):
            return "mostly not"
        return "mostly" if len(right) > len(self.ratios) / 2 and not wrong else "in part"


def judged(each: Sequence[bool]) -> str:
    """Whether what is said of every size is true of it."""
    if not each:
        return "not modelled"
    return "yes" if all(each) else "in part" if any(each) else "no"


def trend(
    found: Points,
    topology: str,
    ways: tuple[str, str],
    value: Value,
    among: Sequence[int] = BUFFERS,
) -> Trend:
    """The first way against the second one."""
    ratios = {}
    for kb in among:
        one, other = (value(found[wavemix(way, topology, kb)]) for way in ways)
        if other > 0:
            ratios[kb] = one / other
    more = tuple(kb for kb, ratio in ratios.items() if ratio > 1 + SAME)
    less = tuple(kb for kb, ratio in ratios.items() if ratio < 1 - SAME)
    return Trend(more, less, ratios)


@dataclass(frozen=True)
class Claim:
    """A sentence of the thesis, in our words, and whether the runs show it."""

    said: str
    found: str
    agrees: str


def claim(
    found: Points,
    topology: str,
    said: str,
    ways: tuple[str, str],
    value: Value,
    wanted: str = "more",
    among: Sequence[int] = BUFFERS,
) -> Claim:
    got = trend(found, topology, ways, value, among)
    here = f"`{ways[0]}` against `{ways[1]}`: {got.words}; factors {got.factors}"
    return Claim(said, here, got.agrees(wanted))


def claims(each: Sequence[Claim]) -> str:
    rows = [[one.said, one.found, one.agrees] for one in each]
    return markdown.table(["the thesis says", "here", "agrees"], rows, left=(0, 1, 2))


def a2s_gain(found: Points, way: str, plain: str, topology: str, kb: int) -> float:
    return improvement(
        found[wavemix(way, topology, kb)].a2s, found[wavemix(plain, topology, kb)].a2s
    )


def gains(found: Points, way: str, plain: str, topology: str) -> dict[int, float]:
    return {kb: a2s_gain(found, way, plain, topology, kb) for kb in BUFFERS}


def same_sign(here: Mapping[int, float], there: Mapping[int, float]) -> list[int]:
    return [kb for kb in here if (here[kb] > 0) == (there[kb] > 0)]


def mean(values: Sequence[float]) -> float:
    return statistics.mean(values)
