# SPDX-License-Identifier: MIT
"""The thesis's lists of blocks: each distance against one counted step by step."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from profiles import Writer

from pirn_tools.prof.blocks import Children, compute
from pirn_tools.prof.read import load


class Plain:
    """The same as the description says it, slot by slot."""

    def __init__(self, slots: int) -> None:
        self.slots = slots
        self.blocks: list[list[int | None]] = [[None] * slots]

    def order(self, hashed: int) -> list[tuple[int, int]]:
        """Places in the order in which they are looked at."""
        found = [(block, hashed) for block in range(len(self.blocks))]
        for block in range(len(self.blocks)):
            found += [(block, (hashed + step) % self.slots) for step in range(1, self.slots)]
        return found

    def add(self, hashed: int, what: int) -> None:
        for block, slot in self.order(hashed):
            if self.blocks[block][slot] is None:
                self.blocks[block][slot] = what
                return
        self.blocks.append([None] * self.slots)
        self.blocks[-1][hashed] = what

    def distance(self, hashed: int, what: int) -> int:
        for distance, (block, slot) in enumerate(self.order(hashed)):
            if self.blocks[block][slot] == what:
                return distance
        raise AssertionError


@pytest.mark.parametrize("slots", [2, 4, 16])
@pytest.mark.parametrize("spread", [1, 3, 100])
def test_distances_are_the_slots_looked_at(slots: int, spread: int) -> None:
    chance = random.Random(slots * spread)
    for size in (1, 2, slots, slots + 1, 5 * slots + 3):
        fast, plain = Children(slots), Plain(slots)
        hashes = [chance.randrange(spread) % slots for _ in range(size)]
        for what, hashed in enumerate(hashes):
            fast.add(hashed)
            plain.add(hashed, what)
        assert fast.distances() == [plain.distance(h, what) for what, h in enumerate(hashes)]
        assert fast.blocks == len(plain.blocks)


def test_calls_count_with_their_distances(tmp_path: Path) -> None:
    w = Writer()
    root = w.root()
    w.call(root, 0x1000, 0x100, 10)
    w.call(root, 0x1010, 0x120, 5)  # with 8 slots of 4 bytes the same place
    w.call(root, 0x1010, 0x120, 2)  # the same way, made twice
    w.call(root, 0x1020, 0x104, 100)
    found = {(one.slots, one.hashed): one for one in compute(load(w.save(tmp_path / "p")))}
    assert found[16, "site"].distances == {0: 117}
    assert found[16, "site"].hits == 1
    one = found[8, "site"]
    # The second takes the next slot, where the third wanted to be: that is pushed to the next.
    assert one.distances == {0: 10, 1: 107}
    assert one.mean == pytest.approx(107 / 117)
    # 0x1010 ^ 0x120 and 0x1020 ^ 0x104, shifted, are 4 and 1 modulo 8.
    assert found[8, "site xor function"].distances == {0: 117}


def test_many_children_of_one_node_take_no_age(tmp_path: Path) -> None:
    w = Writer()
    root = w.root()
    for number in range(20000):
        w.call(root, 0x100000 + 16 * number, 0x100, 1)
    found = compute(load(w.save(tmp_path / "p")))
    first = next(one for one in found if (one.slots, one.hashed) == (16, "site"))
    assert first.blocks == 1250
    assert max(first.distances) > 18000
