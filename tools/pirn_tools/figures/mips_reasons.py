# SPDX-License-Identifier: MIT
"""Of `pirn bench figures mips`: why rows of Table 2 take more cycles than in the paper."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pirn_tools.figures import markdown
from pirn_tools.figures.mips import (
    KERNELS,
    LATENCY,
    PAPER,
    PAPER_CPUS,
    PLOTTED_CPUS,
    Count,
    Kernel,
    Key,
    at_latency,
)

SINGLE, STEAL, WHOLE = KERNELS[:3]


@dataclass(frozen=True)
class Waits:
    """Of an operation: a line through its cycles at all latencies."""

    accesses: float  # cycles more for each cycle of latency
    rest: float  # cycles, if the second level answered at once


def waits(found: Sequence[Count], kernel: Kernel, operation: str) -> Waits:
    points = [
        (c.latency, c.cycles)
        for c in found
        if (c.kernel, c.cpus, c.operation) == (kernel.name, PLOTTED_CPUS, operation)
    ]
    line = statistics.linear_regression(*zip(*points, strict=True))
    return Waits(line.slope, line.intercept)


# In braces: instructions of an operation on so many CPUs, with one queue (single), a queue for each
# CPU (steal), and of the whole library (whole); how many times as long it takes on the most
# processors, here and in the paper.
REASONS: Mapping[str, str] = {
    "context switch": "The thread that yields saves 13 registers and enters the ready queue, the "
    "next one leaves it and loads its own; the end of the stack is checked. With one queue for all "
    "CPUs these wait for each other's lock: {single[1]} instructions on 1 CPU, {single[6]} on 6. "
    "With a queue for each CPU they stay {steal[1]} and {steal[6]}.",
    "lock a free mutex": "{single[1]} instructions. The load-reserved and the store-conditional "
    "both go to the second level, and the first one waits until earlier stores are there, also "
    "those of the measuring program. The paper's lock is one read of a device.",
    "unlock, nobody waits": "The same two accesses: an unlock must not miss a thread that begins "
    "to wait. The paper's lock is freed by a write, for whose answer nobody waits.",
    "lock a taken mutex, to the next thread": "On several CPUs the owner may be about to unlock. "
    "So the mutex is looked at up to four times more, with pauses that double, before the thread "
    "suspends: {single[1]} instructions on 1 CPU, {single[2]} on 2. Then it enters the mutex's "
    "queue, and the CPU switches.",
    "unlock, a thread waits": "{single[1]} instructions: the mutex's lock, the waiter out of its "
    "queue, the ready queue with its own lock, and a look for a CPU that sleeps.",
    "create a thread": "{single[1]} instructions. The small library keeps no stacks: memory for "
    "the stack and for thread-local variables comes from the heap, and is new to the cache. The "
    "whole one, which keeps them, executes {whole[1]}.",
    "end of a thread, to the next thread": "{single[1]} instructions: what a thread may have left "
    "(thread-local variables, thread-specific data), the switch, and then, on the next thread's "
    "stack, the joiner is made ready. A lock is held from one to the other, so that nobody frees a "
    "stack in use.",
    "take a unit of a semaphore": "{single[1]} instructions: `sem_wait` may end by a signal or a "
    "cancellation, so it is a function with a stack frame around the compare-and-swap, whose two "
    "accesses go to the second level.",
    "post a semaphore, nobody waits": "The semaphore's value is 0 each time, so a thread may be "
    "waiting, and only the semaphore's lock tells: {single[1]} instructions with interrupts "
    "disabled, two atomic accesses, a fence and a store.",
    "interrupt of all CPUs at once": "{single[1]} instructions: the handler saves 16 registers, "
    "reads the clock, looks at three timers of the runtime (deadline, sleep, time slice), and "
    "sets the timer again. Clock and timer are uncached accesses. From 1 to 6 CPUs "
    "the time grows {ours:.1f} times here, {paper:.1f} times in the paper.",
}


def better(found: Mapping[Key, Count], kernel: Kernel, operation: str) -> list[int]:
    """CPUs on which an operation takes fewer cycles than in the paper."""
    return [
        cpus
        for cpus, cycles in zip(PAPER_CPUS, PAPER[operation][1], strict=True)
        if cycles is not None
        and (kernel.name, cpus, operation) in found
        and found[kernel.name, cpus, operation].cycles < cycles
    ]


def table(found: Sequence[Count]) -> str:
    """Where the cycles go, on PLOTTED_CPUS CPUs."""
    values = at_latency(found, LATENCY)
    rows = []
    for operation in PAPER:
        row = [operation]
        for kernel in (SINGLE, STEAL):
            count = values[kernel.name, PLOTTED_CPUS, operation]
            one = waits(found, kernel, operation)
            row += [f"{count.cycles:.0f}", f"{count.instructions:.0f}"]
            row += [f"{one.accesses:.1f}", f"{one.rest:.0f}"]
        rows.append(row)
    head = ["operation"]
    for kernel in (SINGLE, STEAL):
        head += [f"`{kernel.policy}`: cycles", "instructions", "waits", "cycles without latency"]
    return markdown.table(head, rows)


def reasons(found: Sequence[Count]) -> str:
    """A line for each row that is not better on all of the paper's processors."""
    values = at_latency(found, LATENCY)

    def instructions(kernel: Kernel, operation: str) -> dict[int, str]:
        return {
            cpus: f"{count.instructions:.0f}"
            for (name, cpus, of), count in values.items()
            if (name, of) == (kernel.name, operation)
        }

    def growth(operation: str) -> dict[str, float]:
        """From the fewest to the most processors; 0 if the paper or a short run has no such."""
        ends = [values.get((SINGLE.name, PAPER_CPUS[at], operation)) for at in (0, -1)]
        first, last = PAPER[operation][1][0], PAPER[operation][1][-1]
        return {
            "ours": ends[1].cycles / ends[0].cycles if ends[0] and ends[1] else 0,
            "paper": last / first if first and last else 0,
        }

    lines = []
    for operation, text in REASONS.items():
        which = better(values, SINGLE, operation)
        if len(which) == sum(cycles is not None for cycles in PAPER[operation][1]):
            continue
        said = text.format(
            **{k.name.split("-")[-1]: instructions(k, operation) for k in (SINGLE, STEAL)},
            whole=instructions(WHOLE, operation),
            **growth(operation),
        )
        if which:
            said += f" Better on {markdown.joined([str(n) for n in which])} CPUs."
        lines.append(f"- {operation}: {said}")
    return "\n".join(lines)


HEAD = """\
The small library, row by row. First where the cycles go, on {cpus} CPUs. "Waits" is by how many
cycles an operation becomes longer if the second level answers one cycle later: the accesses that it
waits for, one after the other. It is the slope of a straight line through the cycles at all
latencies of the plot below; "cycles without latency" is where the line begins. These are the
instructions, the way to the second level and back, taken branches, and spinning. A load that misses
and an atomic access leave the core only when all earlier stores of their CPU have been answered, so
they wait for these stores as well."""


def section(found: Sequence[Count]) -> list[str]:
    return [
        "## Table 2: why rows are not better than the paper's",
        HEAD.format(cpus=PLOTTED_CPUS),
        table(found),
        reasons(found),
    ]
