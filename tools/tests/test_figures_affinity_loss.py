# SPDX-License-Identifier: MIT
"""The page of `pirn bench figures affinity`: where affinity does not help, and why."""

from __future__ import annotations

from collections.abc import Callable

from affinity_points import HEAD, whole_point

from pirn_tools.figures import affinity_loss, affinity_model
from pirn_tools.figures.affinity_model import DECLARED, PLAIN, Case, Point, Sample, wavemix

SAMPLED = (*("memory_ns", "runtime_memory_ns", "idle_ns"), *affinity_model.OF_SAMPLES[4:])
Each = Callable[[int], int]


def sampled(case: Case, sigma: float, late: Each = lambda i: 1, moves: Each = lambda i: 7) -> Point:
    """Five seeds of 40 samples, of which every second one is slow. late, moves: of a sample."""
    lines = [f"{HEAD},{','.join(SAMPLED)}"]
    for seed in range(5):
        for i in range(40):
            counts = f"{moves(i + seed)},500,50,300,1,{late(i + seed)},0,0"
            took = 60000 if i % 2 else 40000
            lines.append(f"wavemix,i7,4096,40,{seed},sample{i},{took},0,{took},{counts}")
        whole = f"50000,{sigma},{50000 + 2 * sigma},280,20000,2000,12000,40,40,0,0"
        lines.append(f"wavemix,i7,4096,40,{seed},all,{whole}")
    return affinity_model.parse(case, "\n".join(lines) + "\n")


def differing(**counts: Each) -> tuple[affinity_loss.Loss, str]:
    found = {case: whole_point(case) for case in affinity_model.plan()}
    ours = wavemix(DECLARED, "i7", 16)
    found |= {ours: sampled(ours, 9000.0, **counts)}
    (one,) = (each for each in affinity_loss.lost(found) if each.deviates)
    return one, "\n".join(affinity_loss.losses(found))


def test_samples_are_not_rows_of_threads() -> None:
    one = sampled(wavemix(DECLARED, "i7", 16), 9000.0)
    assert [set(rows) for rows in one.seeds] == [{"all"}] * 5
    assert [len(samples) for samples in one.samples] == [40] * 5
    assert one.samples[0][1].ns == 60000
    assert one.samples[0][1].value("affinity-late") == 1
    assert "--each-sample" in wavemix(DECLARED, "i7", 16).words()
    assert "--each-sample" not in wavemix(PLAIN, "i7", 16).words()


def test_a_cause_is_counted_more_in_slow_samples() -> None:
    one, text = differing(late=lambda i: i % 2)  # by seed, in the slow or in the fast ones
    assert one.reason == "samples differ more: cause not found"
    assert "In 1 of them no count differs clearly" in text
    one, text = differing(moves=lambda i: 7)
    assert one.reason == "samples differ more: cause not found"
    line = [line for line in text.splitlines() if line.startswith("| i7, 16 KB |")][-1]
    assert "| +20.0 | +0.0 | +0.0 | 1.00 / 1.00 | 1.00 / 1.00 | 0.00 / 0.00 |" in line
    assert line.endswith("| 7.00 / 7.00 | -0.97 |")


def test_the_event_that_differs_most_is_the_cause() -> None:
    case = wavemix(DECLARED, "i7", 16)

    def with_values(**values: tuple[float, float]) -> Point:
        """Of slow and of fast samples."""
        seeds = []
        for seed in range(5):
            each = []
            for i in range(40):
                slow = i % 2 == 0
                known = {"mean_ns": 60.0 if slow else 40.0}
                for name, (more, less) in values.items():
                    known[name.replace("_", "-")] = (more if slow else less) + 0.01 * seed * slow
                each.append(Sample(known))
            seeds.append(each)
        return Point(case, (), tuple(seeds))

    late = with_values(affinity_late=(0.9, 0.1), migrations=(9, 5))
    assert affinity_loss.cause(late) == "slow ones have more consumers taken late"
    pulls = with_values(affinity_late=(0.4, 0.1), affinity_pulls=(0.1, 0.9))
    assert affinity_loss.cause(pulls) == "slow ones have fewer pulls"
    moves = with_values(affinity_late=(0.3, 0.1), migrations=(9, 5))
    assert affinity_loss.cause(moves) == "slow ones have more migrations"
    assert affinity_loss.cause(with_values(migrations=(5.1, 5))) == affinity_loss.UNKNOWN
    assert affinity_loss.cause(Point(case, ())) == affinity_loss.UNKNOWN
