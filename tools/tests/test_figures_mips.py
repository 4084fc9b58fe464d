# SPDX-License-Identifier: MIT
"""The page of `pirn bench figures mips`: reasons and verdicts from made-up counts and times."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from pirn_tools.chip.config import Config
from pirn_tools.chip.sweep import Result, Run
from pirn_tools.errors import UserError
from pirn_tools.figures import mips, mips_apps, mips_reasons, mips_sizes
from pirn_tools.figures.mips import KERNELS, LATENCIES, LATENCY, PAPER, PLOTTED_CPUS, Count
from pirn_tools.figures.mips_apps import APPS, CPUS, POLICIES, SPENT, Timing

SMALL, WHOLE = KERNELS[0], KERNELS[2]
NAMES = ("FIRST", "LAST")
ROOT = Path(__file__).resolve().parent.parent.parent


def count(kernel: str, cpus: int, latency: int, operation: str, cycles: float) -> Count:
    return Count(kernel, cpus, latency, operation, 1000, cycles, 900, 100.0 + cpus)


def counts(fewer: str = "") -> list[Count]:
    """2000 cycles, and 7 more for each of latency; `fewer`: an operation that takes 10."""
    every = [(cpus, LATENCY) for cpus in mips.CPUS]
    every += [(PLOTTED_CPUS, latency) for latency in LATENCIES if latency != LATENCY]
    return [
        count(kernel.name, cpus, latency, name, 10 if name == fewer else 2000 + 7 * latency)
        for kernel in KERNELS
        for cpus, latency in every
        for name in PAPER
    ]


def timing(policy: str, cpus: int, cycles: float, asleep: tuple[float, ...], atomic: int) -> Timing:
    spent: dict[str, float] = dict.fromkeys(SPENT, 1_000_000.0)
    spent[mips_apps.ASLEEP] = int(sum(asleep) * cycles)
    spent[mips_apps.ATOMIC] = atomic
    return Timing(APPS[0].name, policy, cpus, cycles, sum(asleep) / len(asleep), spent, asleep)


def timings(dist: tuple[float, ...], atomic: int = 1_000_000) -> list[Timing]:
    """dist: shares of sleep of its CPUs; the others sleep 10 %, and are twice as fast."""
    return [
        timing(policy, cpus, 8e6, dist[:cpus], 1_000_000)
        if policy == "dist"
        else timing(policy, cpus, 4e6, (0.1,) * cpus, atomic)
        for policy in POLICIES
        for cpus in CPUS
    ]


def test_every_row_of_the_table_has_a_reason() -> None:
    assert list(mips_reasons.REASONS) == list(PAPER)
    text = mips_reasons.reasons(counts())
    assert [line.split(":")[0] for line in text.splitlines()] == [f"- {name}" for name in PAPER]


def test_a_row_that_is_better_everywhere_needs_no_reason() -> None:
    text = mips_reasons.reasons(counts(fewer="context switch"))
    assert "context switch" not in text
    assert len(text.splitlines()) == len(PAPER) - 1


def test_a_reason_has_the_instructions_that_were_counted() -> None:
    lines = mips_reasons.reasons(counts()).splitlines()
    switch = next(line for line in lines if line.startswith("- context switch"))
    assert "101 instructions on 1 CPU, 106 on 6" in switch


def test_a_reason_says_on_which_processors_the_row_is_better() -> None:
    """The paper's interrupts take 1100 cycles on 4 processors, and 1900 on 6."""
    found = [
        count(c.kernel, c.cpus, c.latency, c.operation, 1000) if "interrupt" in c.operation else c
        for c in counts()
    ]
    last = mips_reasons.reasons(found).splitlines()[-1]
    assert last.endswith("1.0 times here, 9.5 times in the paper. Better on 4 and 6 CPUs.")


def test_waits_are_the_slope_over_the_latencies() -> None:
    found = mips_reasons.waits(counts(), SMALL, "context switch")
    assert found.accesses == pytest.approx(7)
    assert found.rest == pytest.approx(2000)
    text = mips_reasons.table(counts())
    assert "| context switch | 2056 | 104 | 7.0 | 2000 | 2056 | 104 | 7.0 | 2000 |" in text


def test_a_mutex_is_looked_at_as_often_as_the_reason_says() -> None:
    text = (ROOT / "src" / "sync" / "mutex.c").read_text()
    first, last = (int(re.findall(rf"#define SPIN_{name} (\d+)u", text)[0]) for name in NAMES)
    looks = [first << n for n in range(32) if first << n <= last]
    assert "pauses <= SPIN_LAST; pauses *= 2" in text
    assert len(looks) == 4
    assert "up to four times more" in mips_reasons.REASONS["lock a taken mutex, to the next thread"]


def test_a_page_without_other_latencies_gives_no_reasons() -> None:
    assert "why rows" not in mips.page(counts(), {"command": "x"})
    assert "why rows" in mips.page(counts(), {"command": "x"}, mips_reasons.section(counts()))


def test_figure_6_is_in_cycles_and_percent() -> None:
    found = timings((0.5,) * 6)
    assert "| `dist` | NON_SMP_DS | 4.00 (50%) | 8.00 (50%) | 16.00 (50%) | 24.00 (50%) |" in (
        mips_apps.idle_table(found, APPS[0])
    )
    said = mips_apps.idle_verdict(found, APPS[0])
    assert "idle 1.0 and 10.0 times as long as `single`: not reproduced." in said


def test_ten_times_the_idle_cycles_reproduce_figure_6() -> None:
    found = [
        timing(t.policy, t.cpus, t.cycles, t.asleep if t.policy == "single" else (0.9,) * t.cpus, 1)
        for t in timings((0.9,) * 6)
    ]
    # central: 9 times; dist, which takes twice as long: 18 times
    assert "but not ten times." in mips_apps.idle_verdict(found, APPS[0])
    more = [
        timing(t.policy, t.cpus, 3 * t.cycles if t.policy == "central" else t.cycles, t.asleep, 1)
        for t in found
    ]
    assert mips_apps.idle_verdict(more, APPS[0]).endswith("reproduced.")
    assert "not" not in mips_apps.idle_verdict(more, APPS[0]).split(":")[-1]


@pytest.mark.parametrize(
    ("dist", "atomic", "words"),
    [
        ((0.5,) * 6, 1_000_000, "all CPUs sleep more, because a CPU whose threads all wait"),
        ((0.1, 0.2, 0.3, 0.7, 0.8, 0.9), 1_000_000, "10% to 90% under `dist`"),
        ((0.1, 0.2, 0.3, 0.7, 0.8, 0.9), 1_000_000, "the CPUs are unevenly loaded"),
        ((0.5,) * 6, 3_000_000, "+2.00 million cycles under `single` against `dist`"),
        ((0.5,) * 6, 3_000_000, "a lock that CPUs share costs less than this sleep."),
    ],
)
def test_the_reason_follows_what_cpus_did(dist: tuple[float, ...], atomic: int, words: str) -> None:
    text = mips_apps.why(timings(dist, atomic), APPS[0])
    assert "So sleep is most of the difference." in text
    assert words in text


def test_another_difference_than_sleep_is_named() -> None:
    """dist has 40 million more cycles of waits for atomic instructions, and 2.4 of sleep."""
    found = [
        timing(t.policy, t.cpus, t.cycles, (0.1,) * t.cpus, 40_000_000 * (t.policy == "dist"))
        for t in timings((0.1,) * 6)
    ]
    assert mips_apps.why(found, APPS[0]).endswith("not sleep, but waits for atomic instructions.")


def test_times_that_are_about_the_same_have_what_is_saved_and_lost() -> None:
    found = [
        replace(t, cycles=4.1e6, spent={**t.spent, "waits for data": 0, mips_apps.ASLEEP: 3.5e6})
        if t.policy == "dist"
        else t
        for t in timings((0.1,) * 6)
    ]
    text = mips_apps.why(found, APPS[0])
    assert "`dist` takes 1.02 times as long as `single`." in text
    assert "+1.10 sleep, -1.00 waits for data, +0.00" in text
    assert text.endswith("So what `dist` saves in waits for data it loses in sleep.")


def test_cycles_of_cpus_are_those_of_the_counters() -> None:
    causes = [cause for each in SPENT.values() for cause in each]
    harts = [{name: at + 1 for at, name in enumerate(causes)} for _ in range(2)]
    harts[0]["wfi"], harts[1]["wfi"] = 10, 30
    result = Result("", {"cycles": 60, "harts": harts})
    one = mips_apps.timing(result, ("comm", "single", 2), 40.0)
    # CPU 1 has slept for the 20 cycles in which the program started and ended
    assert one.asleep == pytest.approx((10 / 40, 10 / 40))
    assert one.idle == pytest.approx(1 / 4)
    assert one.idle_cycles == pytest.approx(20)
    assert one.spent["instructions"] == 2
    assert sum(one.spent.values()) == 2 * sum(range(1, 11)) + 10 + 10


def test_all_counters_of_a_hardware_thread_have_a_name() -> None:
    """All but those that only the hardware scheduler counts."""
    text = (ROOT / "hw" / "sim" / "counters.cc").read_text()
    names = text[text.index("names[Counters::causes]") : text.index("};")]
    found = set(names.split('"')[1::2])
    assert {cause for each in SPENT.values() for cause in each} == found - {
        "off",
        "context",
        "cond",
    }


def test_the_page_has_all_figures(tmp_path: Path) -> None:
    found = [
        Timing(app.name, t.policy, t.cpus, t.cycles, t.idle, t.spent, t.asleep)
        for app in APPS
        for t in timings((0.5,) * 6)
    ]
    text = "\n".join(mips_apps.section(found))
    for title in ("Figure 5: MJPEG", "Figure 6: MJPEG, idle cycles", "Figure 7: COMM"):
        assert f"### {title}\n" in text
    mips_apps.draw_all(found, tmp_path)
    for name in (*(app.picture for app in APPS), mips_apps.IDLE_PICTURE):
        assert f"(img/{name})" in text
        assert (tmp_path / name).stat().st_size > 1000


def test_costs_are_by_table_and_application() -> None:
    one, other, third = (
        Run(Path(name), Config(), latency)
        for name, latency in (("a", LATENCY), ("a", 32), ("comm", LATENCY))
    )
    what = {
        one: mips.What(SMALL, 1, LATENCY),
        other: mips.What(SMALL, 4, 32),
    }
    assert mips.parts(what, {third: ("comm", "single", 1)}) == {
        one: "Table 2",
        other: "other latencies",
        third: "applications: comm",
    }


SIZES = {
    (board, policy): mips_sizes.Size(kernel, 5000, per_cpu)
    for board in mips_sizes.BOARDS
    for policy, kernel, per_cpu in (
        ("single", 15112, 0),
        ("central", 19408, 21),
        ("dist", 25480, 64),
    )
}


def test_sizes_stand_beside_those_of_the_paper() -> None:
    text = mips_sizes.table(SIZES)
    two = "15112 | 2.0 | 5000"
    assert f"| SMP | `single` | 7556 | {two} | {two} | 0 | 0 |\n" in text
    assert text.splitlines()[-1].endswith("| 25480 | 2.5 | 5000 | about 80 | 64 |")


def test_the_verdict_on_sizes_follows_from_them() -> None:
    text = mips_sizes.verdict(SIZES)
    assert "Not reproduced: on the chip the kernel is 2.0 to 2.5 times as large" in text
    assert "Reproduced: SMP is the smallest, NON_SMP_DS the largest." in text
    assert "grows by 69% here, by 35% in the paper" in text
    other = {**SIZES, (mips_sizes.RISCV, "dist"): mips_sizes.Size(19000, 0, 0)}
    assert "Not reproduced: SMP is the smallest" in mips_sizes.verdict(other)


def test_sizes_are_read_from_what_the_test_of_sizes_keeps(tmp_path: Path) -> None:
    text = mips.page(counts(), {"command": "x"}, sizes=mips_sizes.section(ROOT))
    assert "## Table 1: code size by policy" in text
    assert (ROOT / "docs" / "results" / "board-size.md").exists()
    path = tmp_path / mips_sizes.SOURCE
    path.parent.mkdir(parents=True)
    path.write_text('["pirn-soc-document-single"]\nsizes = { core = 1, port = 2, per_cpu = 0 }\n')
    with pytest.raises(UserError, match=r"sizes\.toml: pirn-soc, single: no 'posix'"):
        mips_sizes.read(tmp_path)
