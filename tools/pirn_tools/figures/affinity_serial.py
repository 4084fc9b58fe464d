# SPDX-License-Identifier: MIT
"""The page of `pirn bench figures affinity`: the serial run, its portions, and speed-ups beside the
thesis' estimate."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pirn_tools.figures import affinity_thesis as thesis
from pirn_tools.figures import markdown
from pirn_tools.figures.affinity_model import (
    AUTO,
    DECLARED,
    OLD,
    PIN_ALL,
    PIN_WAVES,
    PLAIN,
    SERIAL,
    Points,
    wavemix,
)
from pirn_tools.figures.affinity_thesis import BUFFERS, TOPOLOGIES, Serial
from pirn_tools.figures.affinity_words import SAME, Claim, claims, judged, mean, share, signed

NEAR = 0.1  # of a time of the thesis
NEAR_POINTS = 5  # percentage points of a portion
TASKS = ("waves", "mixer0, mixer1", "mixer2")


def serial_of(found: Points, topology: str, kb: int) -> Serial:
    return found[wavemix(SERIAL, topology, kb)].serial()


def parts_of(one: Serial) -> tuple[float, ...]:
    return one.wave, one.mixer, one.last


# ---- Tables 4.3a and 4.4a ----


def serial_times(found: Points, topology: str) -> str:
    rows = []
    for kb in BUFFERS:
        row = thesis.TABLES[topology][kb]
        ours = [*parts_of(serial_of(found, topology, kb))]
        ours.append(found[wavemix(SERIAL, topology, kb)].mean)
        theirs = [*parts_of(row.serial), row.serial_us]
        rows.append([f"{kb} KB", *(f"{one:.1f}" for one in (*ours, *theirs))])
    each = (*TASKS, "serial run")
    return markdown.table(["", *each, *(f"thesis: {name}" for name in each)], rows)


def factors(each: Sequence[float]) -> str:
    return ", ".join(f"{one:.2f}" for one in each)


def near(each: Sequence[float]) -> str:
    return judged([abs(one - 1) <= NEAR for one in each])


def of_every(found: Points, topology: str, value: Callable[[Serial], float]) -> list[float]:
    return [value(serial_of(found, topology, kb)) for kb in BUFFERS]


def serial_claims(found: Points, topology: str) -> list[Claim]:
    title = TOPOLOGIES[topology]
    each = []
    for at, name in enumerate((*TASKS, "serial run")):
        ratios = []
        for kb in BUFFERS:
            row = thesis.TABLES[topology][kb]
            ours = found[wavemix(SERIAL, topology, kb)]
            one = (*parts_of(ours.serial()), ours.mean)[at]
            ratios.append(one / (*parts_of(row.serial), row.serial_us)[at])
        said = f"{title}, {name}: times of the table"
        here = f"divided by these: {factors(ratios)}; within {share(NEAR)} of it is yes"
        each.append(Claim(said, here, near(ratios)))
    long = topology == "xeon"
    waves = of_every(found, topology, lambda one: one.last / one.wave)
    said = f"{title}: mixer2 takes {'at least' if long else 'less than'} two times a wave's time"
    agrees = judged([(one >= 2) == long for one in waves])
    each.append(Claim(said, f"factors {factors(waves)}", agrees))
    return each


# ---- Tables 4.3b and 4.4b ----


def portions(found: Points, topology: str) -> str:
    """Of task affinity; plain scheduling has the first two, and the sum of the others."""
    rows = []
    ours = []
    for kb in BUFFERS:
        ours.append(thesis.affinity_portions(serial_of(found, topology, kb)))
        rows.append([f"{kb} KB", *cells(ours[-1]), *printed(thesis.PORTIONS[topology][kb])])
    said = thesis.AVERAGE_PORTIONS[topology]
    rows.append(["average", *cells(thesis.averages(ours)), *printed(said)])
    head = ["P1", "P2", "P3", "P4", "P3, plain"]
    return markdown.table(["", *head, *(f"thesis: {one}" for one in head)], rows)


def cells(one: Sequence[float]) -> list[str]:
    return [share(part) for part in (*one, one[2] + one[3])]


def printed(one: Sequence[int]) -> list[str]:
    return cells([part / 100 for part in one])


def portion_claim(found: Points, topology: str) -> Claim:
    ours = thesis.averages(of_portions(found, topology))
    said = thesis.AVERAGE_PORTIONS[topology]
    apart = [100 * one - other for one, other in zip(ours, said, strict=True)]
    return Claim(
        f"{TOPOLOGIES[topology]}: portions {', '.join(f'{one} %' for one in said)} on average",
        f"{', '.join(share(one) for one in ours)}; {', '.join(f'{one:+.0f}' for one in apart)} "
        f"percentage points; up to {NEAR_POINTS} is yes",
        judged([abs(one) <= NEAR_POINTS for one in apart]),
    )


def of_portions(found: Points, topology: str) -> list[tuple[float, ...]]:
    return [thesis.affinity_portions(serial_of(found, topology, kb)) for kb in BUFFERS]


def serials(found: Points) -> list[str]:
    parts = [
        "## The serial run",
        "All tasks one after another on one CPU: a task's time for a sample in microseconds, the "
        "mean of the four waves and of the first two mixers (Tables 4.3a and 4.4a). What a number "
        "takes to compute in the model comes from the thesis' times with 64 KB, so those agree by "
        "construction. The system calls of the thesis' threads are not in the model.",
        "The portions are shares of that run (Tables 4.3b and 4.4b). With affinity: P1, mixer0 and "
        "mixer1 at once; P2, three waves and as much of mixer2; P3, the fourth wave and as much of "
        "the rest of mixer2; P4, the rest of the longer of these two. Plain scheduling has the "
        "same P1 and P2, and mixer2 alone as P3.",
    ]
    for topology, title in TOPOLOGIES.items():
        parts += [
            f"### {title}: serial run",
            serial_times(found, topology),
            "Portions:",
            portions(found, topology),
        ]
    each = []
    for topology in TOPOLOGIES:
        each += [*serial_claims(found, topology), portion_claim(found, topology)]
    parts += [
        "### Beside the thesis: serial run",
        "Factors are for buffers of " + markdown.joined([str(kb) for kb in BUFFERS]) + " KB.",
        claims(each),
    ]
    return parts


# ---- speed-up ----

AS_AFFINITY, AS_PLAIN = "affinity", "plain"
# A way, and which of the thesis' two schedules it is meant to have, if any.
SPED = {
    PLAIN: AS_PLAIN,
    OLD: None,
    DECLARED: AS_AFFINITY,
    AUTO: AS_AFFINITY,
    PIN_ALL: AS_PLAIN,
    PIN_WAVES: AS_PLAIN,
    "single": AS_PLAIN,
    "single:affinity=declared": AS_AFFINITY,
}


def speedup(found: Points, way: str, topology: str, kb: int) -> float:
    return found[wavemix(SERIAL, topology, kb)].mean / found[wavemix(way, topology, kb)].mean


def average_speedup(found: Points, way: str, topology: str) -> float:
    return mean([speedup(found, way, topology, kb) for kb in BUFFERS])


def estimates(found: Points, topology: str) -> dict[str, float]:
    plain, affinity = thesis.estimates([serial_of(found, topology, kb) for kb in BUFFERS])
    return {AS_PLAIN: plain, AS_AFFINITY: affinity}


def speedup_table(found: Points, topology: str) -> str:
    guesses = estimates(found, topology)
    rows = []
    for way, kind in SPED.items():
        cells = [f"{speedup(found, way, topology, kb):.2f}" for kb in BUFFERS]
        average = average_speedup(found, way, topology)
        guess = guesses[kind] if kind else None
        rows.append([f"`{way}`", *cells, *compared(average, guess)])
    said = thesis.SPEEDUPS[topology]
    for title, average, guess in (
        ("thesis, plain", said.plain, said.plain_estimate),
        ("thesis, new rule", said.affinity, said.affinity_estimate),
    ):
        each = []
        for row in thesis.TABLES[topology].values():
            one = row.plain if title.endswith("plain") else row.affinity
            each.append(f"{row.serial_us / one.mean:.2f}")
        rows.append([title, *each, *compared(average, guess)])
    head = ["", *(f"{kb} KB" for kb in BUFFERS), "average", "equation 4.1", "average against it"]
    return markdown.table(head, rows)


def compared(average: float, guess: float | None) -> list[str]:
    if guess is None:
        return [f"{average:.2f}", "", ""]
    return [f"{average:.2f}", f"{guess:.2f}", signed(average / guess - 1)]


def speedup_claims(found: Points, topology: str) -> list[Claim]:
    title, said = TOPOLOGIES[topology], thesis.SPEEDUPS[topology]
    guesses = estimates(found, topology)
    each = []
    for what, way, kind, real, guess in (
        ("plain scheduling", PLAIN, AS_PLAIN, said.plain, said.plain_estimate),
        ("affinity", DECLARED, AS_AFFINITY, said.affinity, said.affinity_estimate),
    ):
        ours, ratio = average_speedup(found, way, topology), guesses[kind]
        each.append(
            Claim(
                f"{title}, {what}: speed-up {real:.2f}, estimated {guess:.2f}",
                f"`{way}`: {ours:.2f}, estimated {ratio:.2f}; within {share(NEAR)} of both is yes",
                judged([abs(ours / real - 1) <= NEAR, abs(ratio / guess - 1) <= NEAR]),
            )
        )
    faster = [
        speedup(found, DECLARED, topology, kb) > speedup(found, PLAIN, topology, kb)
        for kb in BUFFERS
        if topology != "xeon" or kb > BUFFERS[0]
    ]
    where = "from 8 KB on" if topology == "xeon" else "with every size"
    here = f"`{DECLARED}` against `{PLAIN}`: in {sum(faster)} of {len(faster)} sizes"
    each.append(Claim(f"{title}: affinity is faster {where}", here, judged(faster)))
    if topology == "xeon":
        each.append(no_gain_claim(found))
    return each


def no_gain_claim(found: Points) -> Claim:
    """The case in which the thesis' rule gains nothing."""
    kb = BUFFERS[0]
    row = thesis.TABLES["xeon"][kb]
    new, old = (row.serial_us / one.mean for one in (row.affinity, row.plain))
    pairs = [(DECLARED, PLAIN), ("single:affinity=declared", "single")]
    each = [tuple(speedup(found, way, "xeon", kb) for way in ways) for ways in pairs]
    here = "; ".join(
        f"`{ways[0]}` {ours:.2f} against `{ways[1]}` {plain:.2f}"
        for ways, (ours, plain) in zip(pairs, each, strict=True)
    )
    return Claim(
        f"Xeon: with {kb} KB affinity is no faster: speed-up {new:.2f} against {old:.2f}",
        here,
        judged([ours <= plain * (1 + SAME) for ours, plain in each]),
    )


def speedups(found: Points) -> list[str]:
    parts = [
        "## Speed-up",
        "Time of a sample on one CPU, divided by that on four, and what the thesis' equation 4.1 "
        "expects of plain scheduling and of affinity: the portions of the serial run, averaged "
        "over the sizes, each divided by the number of tasks that run at once (Table 4.2). With "
        "pinned tasks a wave that is tied to mixer2's CPU waits for mixer2, so mixer2 adds its "
        "whole time, as in plain scheduling; the old rule has no ideal schedule in the thesis.",
        "The thesis prints the second portion of affinity as three waves and the difference of "
        "mixer2 and a wave; its percentages, which are used here, are those of four waves. Its "
        "text calls the estimates of affinity too high, but by its own numbers all four are lower "
        "than what was measured.",
    ]
    each = []
    for topology, title in TOPOLOGIES.items():
        parts += [f"### {title}: speed-up", speedup_table(found, topology)]
        each += speedup_claims(found, topology)
    parts += [
        "### Beside the thesis: speed-up",
        claims(each),
        "The estimate takes the tasks' times from the serial run, whose data is in one CPU's "
        "caches. On four CPUs data comes from other caches, so tasks take longer: in the Xeon's "
        "model another die's line costs as much as memory, and even tasks that are all pinned as "
        f"in Table 3.2 reach {average_speedup(found, PIN_ALL, 'xeon'):.2f} only "
        f"(i7: {average_speedup(found, PIN_ALL, 'i7'):.2f}). On the other hand a producer starts "
        "on the next buffer while its consumer still works on another one, which the equation "
        "does not count.",
    ]
    return parts
