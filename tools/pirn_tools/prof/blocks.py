# SPDX-License-Identifier: MIT
"""The cost that the SHMAC thesis's child lists (section 4.1) would have for a profile's calls.

There every function of the tree has a list of blocks with so many slots each. A call's place is
(site / 4) mod slots, in a second variant (site xor function) / 4 mod slots. Looked at are, until
the call is found: that slot of each block; then each block's other slots, from the one behind it on
and around. A call's distance is how many slots were looked at before its own.

The thesis leaves open where calls go. Here a new call takes the first free slot in that order, a
new block if there is none. Distances are those in the final lists; calls enter them in the order in
which nodes were made. All calls of a node count with its distance.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pirn_tools.errors import UserError
from pirn_tools.prof.read import Profile, RawNode

SIZES = (2, 4, 8, 16, 32, 64)
THESIS = 16  # slots of a block there
HASHES = ("site", "site xor function")
LAST = 32  # distances from here on are one column of the picture


class Children:
    """The list of one function."""

    def __init__(self, slots: int) -> None:
        self.slots = slots
        self.blocks = 1
        self.free = [0] * slots  # for each slot the first block where it is free
        self.taken: set[tuple[int, int]] = set()
        self.places: list[tuple[int, int, int]] = []  # hash, block, slot: as they came

    def add(self, hashed: int) -> None:
        block, slot = self._free(hashed)
        self.taken.add((block, slot))
        while (self.free[slot], slot) in self.taken:
            self.free[slot] += 1
        self.places.append((hashed, block, slot))

    def _free(self, hashed: int) -> tuple[int, int]:
        if self.free[hashed] < self.blocks:
            return self.free[hashed], hashed
        block = min(self.free)
        if block < self.blocks:
            for step in range(1, self.slots):
                slot = (hashed + step) % self.slots
                if self.free[slot] == block:
                    return block, slot
        self.blocks += 1
        return self.blocks - 1, hashed

    def distances(self) -> list[int]:
        """Of each call, as they came."""
        found = []
        for hashed, block, slot in self.places:
            if slot == hashed:
                found.append(block)
            else:
                step = (slot - hashed) % self.slots
                found.append(self.blocks + block * (self.slots - 1) + step - 1)
        return found


@dataclass(frozen=True)
class Outcome:
    """For one number of slots and one way to hash."""

    slots: int
    hashed: str
    calls: int
    distances: Counter[int]  # calls by their distance
    blocks: int  # of all functions with calls

    @property
    def mean(self) -> float:
        """The thesis's hit rate: slots looked at less one, on average."""
        if not self.calls:
            return 0.0
        return sum(distance * calls for distance, calls in self.distances.items()) / self.calls

    @property
    def hits(self) -> float:
        """The share of calls that are found at once."""
        return self.distances[0] / self.calls if self.calls else 0.0


def compute(profile: Profile) -> list[Outcome]:
    """All sizes and both hashes."""
    families = _families(profile)
    return [_one(families, slots, hashed) for hashed in HASHES for slots in SIZES]


def _families(profile: Profile) -> list[list[RawNode]]:
    """Of each node the calls below it, in the order in which they were made; each way once."""
    ways: dict[tuple[int, int, int], RawNode] = {}
    for one in sorted(profile.nodes.values()):
        if one.kind == "call":
            key = (one.parent, one.function, one.site)
            first = ways.get(key)
            ways[key] = one if first is None else first._replace(calls=first.calls + one.calls)
    families: dict[int, list[RawNode]] = {}
    for one in ways.values():
        families.setdefault(one.parent, []).append(one)
    return list(families.values())


def _one(families: list[list[RawNode]], slots: int, hashed: str) -> Outcome:
    distances: Counter[int] = Counter()
    blocks = 0
    for family in families:
        if len(family) == 1:  # found at once, whatever the hash
            distances[0] += family[0].calls
            blocks += 1
            continue
        children = Children(slots)
        for one in family:
            value = one.site if hashed == HASHES[0] else one.site ^ one.function
            children.add(value // 4 % slots)
        for one, distance in zip(family, children.distances(), strict=True):
            distances[distance] += one.calls
        blocks += children.blocks
    distances = +distances
    return Outcome(slots, hashed, distances.total(), distances, blocks)


HEAD = ["slots", "mean distance", "at once %", "p99", "largest", "blocks", "hash"]


def rows(outcomes: list[Outcome]) -> list[list[str]]:
    return [
        [
            str(one.slots),
            f"{one.mean:.3f}",
            f"{100 * one.hits:.2f}",
            str(_quantile(one, 0.99)),
            str(max(one.distances, default=0)),
            f"{one.blocks:,}",
            one.hashed,
        ]
        for one in outcomes
    ]


def _quantile(one: Outcome, share: float) -> int:
    """The smallest distance that so many calls do not exceed."""
    seen = 0
    for distance in sorted(one.distances):
        seen += one.distances[distance]
        if seen >= share * one.calls:
            return distance
    return 0


def as_json(outcomes: list[Outcome]) -> list[dict[str, Any]]:
    return [
        {
            "slots": one.slots,
            "hash": one.hashed,
            "calls": one.calls,
            "mean": one.mean,
            "hits": one.hits,
            "blocks": one.blocks,
            "distances": dict(sorted(one.distances.items())),
        }
        for one in outcomes
    ]


def check_picture(output: Path) -> None:
    """Before the work begins."""
    if output.suffix not in (".png", ".svg", ".pdf"):
        raise UserError(
            f'{output}: a picture has the suffix .png, .svg or .pdf, not "{output.suffix}"', 2
        )


def draw(outcomes: list[Outcome], output: Path) -> None:
    """As the thesis's Figures 4.4 (by size) and 4.5 (distances with 16 slots)."""
    from pirn_tools.prof.picture import two_figures

    with two_figures(output, 11, 4.2) as (left, right):
        for place, hashed in enumerate(HASHES):
            own = [one for one in outcomes if one.hashed == hashed]
            left.plot(
                [str(one.slots) for one in own], [one.mean for one in own], "o-", label=hashed
            )
            chosen = next(one for one in own if one.slots == THESIS)
            shares = [0.0] * (LAST + 1)
            for distance, calls in chosen.distances.items():
                shares[min(distance, LAST)] += 100 * calls / max(1, chosen.calls)
            at = [distance + 0.4 * place - 0.2 for distance in range(LAST + 1)]
            right.bar(at, shares, 0.4, label=hashed)
        left.set(xlabel="slots of a block", ylabel="slots looked at before the right one, mean")
        left.set_ylim(bottom=0)
        right.set(
            xlabel=f"distance ({LAST}: or more)", ylabel="calls (%)", yscale="log", ylim=(1e-3, 150)
        )
        right.set_title(f"blocks of {THESIS} slots")
        for axes in (left, right):
            axes.legend(frameon=False)
            axes.spines[["top", "right"]].set_visible(False)
