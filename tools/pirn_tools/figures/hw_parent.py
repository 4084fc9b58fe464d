# SPDX-License-Identifier: MIT
"""Figure 2 of `pirn bench figures hw`: what slows down the parent of the finest threads."""

from __future__ import annotations

from dataclasses import dataclass

from pirn_tools.figures.hw import COUNT, FEW, LATENCY, THREADS_A_CORE, Plan, Points
from pirn_tools.figures.hw_results import CLOSE, share
from pirn_tools.figures.markdown import table

TEXT = """\
With unit 1, what the parent's hardware thread does in the cycles of one thread, and the same on a
chip of {cores} cores with one hardware thread each, where nothing else runs in the parent's core.
*In the pipeline*: an instruction of the parent is on its way and does not end in this cycle, or an
instruction of another hardware thread has its place (counter `pipe` of `--counters`). Values are
differences between runs of {many:,} and of {few} threads, for one thread, so the start of the
program is not in them. The counters also have what it does for each thread before the first
`spawn`: it clears a word."""


@dataclass(frozen=True)
class Parent:
    """Per thread that it creates, in cycles; from runs with more threads and with fewer."""

    cycles: float
    pipe: float
    load: float
    traps: float  # of all threads: others could not keep up with it
    first_core: float  # share of the threads
    two_cores: float

    @staticmethod
    def of(found: Points, plan: Plan, latency: int, each: int) -> Parent:
        few, many = (plan.lone(latency, each, threads) for threads in (FEW, COUNT))

        def grows(name: str) -> float:
            return (found.mean(many, name) - found.mean(few, name)) / (many.threads - few.threads)

        return Parent(
            grows("cycles"),
            grows("parent_pipe"),
            abs(grows("parent_load")),
            found.mean(many, "rtu_overflows"),
            share(found, many, 1),
            share(found, many, 2),
        )


def section(found: Points, plan: Plan) -> list[str]:
    every = {place: Parent.of(found, plan, *place) for place in plan.parents()}
    head = ["latency", "hardware threads a core", "cycles a thread", "parent in the pipeline"]
    head += ["its loads wait", "threads on core 0", "on cores 0 and 1"]
    rows = [
        [
            str(latency),
            str(each),
            *(f"{value:.1f}" for value in (one.cycles, one.pipe, one.load)),
            *(f"{value:.0%}" for value in (one.first_core, one.two_cores)),
        ]
        for (latency, each), one in every.items()
    ]
    return [
        "### What slows the parent down",
        TEXT.format(cores=plan.most // THREADS_A_CORE, many=COUNT, few=FEW),
        table(head, rows, left=()),
        verdict(every[LATENCY, THREADS_A_CORE], every[LATENCY, 1]),
    ]


def verdict(shared: Parent, alone: Parent) -> str:
    slower, waits = shared.cycles - alone.cycles, shared.pipe - alone.pipe
    if alone.traps:
        return (
            "The few hardware threads of the chip on which the parent is alone in its core could "
            f"not keep up with it ({alone.traps:.0f} traps), so these runs do not show the cause."
        )
    if slower < alone.cycles * (CLOSE - 1):
        return (
            "The parent is not slower beside other hardware threads "
            f"({shared.cycles:.1f} and {alone.cycles:.1f} cycles a thread)."
        )
    said = (
        f"With latency {LATENCY}, hardware threads beside the parent cost it {slower:.1f} cycles a "
        f"thread, and the counter `pipe` grows by {waits:.1f}. "
    )
    if not 0.5 < waits / slower < 1.5:
        return said + "So sharing a pipeline does not explain the difference."
    return said + (
        "So what slows the parent down, besides its own instructions, is that threads which it has "
        "created share its core's pipeline."
    )
