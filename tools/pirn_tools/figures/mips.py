# SPDX-License-Identifier: MIT
"""`pirn bench figures mips`: a POSIX-threads kernel on a MIPS multiprocessor, and Pirn on the chip.

Petrot and Gomez, "Lightweight implementation of the POSIX threads API for an on-chip MIPS
multiprocessor with VCI interconnect" (DATE 2003).
"""

from __future__ import annotations

import csv
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from pirn_tools.chip.config import Config
from pirn_tools.chip.sweep import Result, Run
from pirn_tools.errors import UserError
from pirn_tools.figures import markdown, on_chip
from pirn_tools.plotting import figure

BOARD = "pirn-soc"
RAM_MIB = 128
LATENCY = 8  # of the table
LATENCIES = (4, 8, 16, 32, 64, 128, 200)
CPUS = (1, 2, 4, 6, 8)
PLOTTED_CPUS = 4
PICTURE = "mips-latency.png"


@dataclass(frozen=True)
class Kernel:
    """A build of Pirn and its policy."""

    name: str
    policy: str
    what: str
    settings: tuple[str, ...] = ()  # of CMake; none: the board's whole library


SMALL = (
    "-DPIRN_WITHOUT=everything",
    "-DPIRN_WITH=speed;preempt;timed;stacks",
    "-DPIRN_CPUS_MOST=32",
    "-DPIRN_STACK_MIN=4096",
)
KERNELS = (
    Kernel("small-single", "single", "small, one queue for all CPUs", SMALL),
    Kernel("small-steal", "steal", "small, a queue for each CPU", SMALL),
    Kernel("whole-single", "single", "whole, one queue for all CPUs"),
    Kernel("whole-steal", "steal", "whole, a queue for each CPU"),
)

# The rows of our program, and the cycles of the paper's Table 2 on 1, 2, 4 and 6 processors.
PAPER: Mapping[str, tuple[str, tuple[int | None, ...]]] = {
    "context switch": ("Context Switch", (172, 187, 263, 351)),
    "lock a free mutex": ("Mutex Lock (acquired)", (36, 56, 61, 74)),
    "unlock, nobody waits": ("Mutex Unlock", (30, 30, 31, 34)),
    "lock a taken mutex, to the next thread": ("Mutex Lock (suspended)", (117, 123, 258, 366)),
    "unlock, a thread waits": ("Mutex Unlock (awakes a thread)", (None, 191, 198, 218)),
    "create a thread": ("Thread Creation", (667, 738, 823, 1085)),
    "end of a thread, to the next thread": ("Thread Exit", (98, 117, 142, 230)),
    "take a unit of a semaphore": ("Semaphore Acquisition", (36, 48, 74, 76)),
    "post a semaphore, nobody waits": ("Semaphore Release", (36, 50, 78, 130)),
    "interrupt of all CPUs at once": ("Interrupt Handler", (200, 430, 1100, 1900)),
}
PAPER_CPUS = (1, 2, 4, 6)


@dataclass(frozen=True)
class What:
    """What a run measures."""

    kernel: Kernel
    cpus: int
    latency: int


@dataclass(frozen=True)
class Count:
    kernel: str
    cpus: int
    latency: int
    operation: str
    calls: int
    cycles: float
    most: int
    instructions: float


def program(root: Path, kernel: Kernel, board: str = BOARD, target: str = "kernel_cycles") -> Path:
    """Built, if it is not up to date."""
    name = f"{board}-{kernel.name}" if kernel.settings else board
    policies = [f"-DPIRN_POLICIES={kernel.policy}"] if kernel.settings else []
    folder = build(root, name, [target], [*kernel.settings, *policies], board)
    return folder / "bench" / "board" / f"{target}.elf"


def build(
    root: Path, name: str, programs: Sequence[str], settings: Sequence[str] = (), board: str = BOARD
) -> Path:
    """Programs for the chip, in a folder of this name, which is returned."""
    folder = root / "build" / name
    configure = ["cmake", "--preset", board, "-B", str(folder), *settings]
    for step in (configure, ["cmake", "--build", str(folder), "--target", *programs]):
        done = subprocess.run(step, cwd=root, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise UserError(f"{' '.join(step)}:\n{(done.stdout + done.stderr)[-2000:]}")
    return folder


def run_of(path: Path, what: What, scheduler: int = 0, options: tuple[str, ...] = ()) -> Run:
    """scheduler: entries of each queue of the hardware's; 0: the chip has none. Options are those
    of the simulator."""
    kernel = what.kernel
    return Run(
        program=path,
        config=Config(cores=what.cpus, ram_mib=RAM_MIB, scheduler=scheduler),
        latency=what.latency,
        options=options,
        settings=() if kernel.settings else (f"PIRN_SCHED={kernel.policy}", "PIRN_PREEMPT=0"),
    )


def plan(root: Path, short_: bool) -> dict[Run, What]:
    found = {}
    for kernel in KERNELS[:1] if short_ else KERNELS:
        path = program(root, kernel)
        wanted = [(cpus, LATENCY) for cpus in (CPUS[:2] if short_ else CPUS)]
        if kernel.settings and not short_:
            wanted += [(PLOTTED_CPUS, latency) for latency in LATENCIES if latency != LATENCY]
        for cpus, latency in wanted:
            what = What(kernel, cpus, latency)
            found[run_of(path, what)] = what
    return found


def read(output: str, kernel: str, what: What) -> list[Count]:
    """What our program has printed."""
    return [
        Count(
            kernel,
            what.cpus,
            what.latency,
            row["operation"],
            int(row["calls"]),
            float(row["cycles"]),
            int(row["most"]),
            float(row["instructions"]),
        )
        for row in csv.DictReader(output.splitlines())
    ]


def counts(results: Mapping[Run, Result], what: Mapping[Run, What]) -> list[Count]:
    return [
        count
        for run, one in what.items()
        for count in read(results[run].output, one.kernel.name, one)
    ]


Key = tuple[str, int, str]  # kernel, CPUs, operation


def at_latency(found: Sequence[Count], latency: int) -> dict[Key, Count]:
    return {(c.kernel, c.cpus, c.operation): c for c in found if c.latency == latency}


def _cell(values: Mapping[Key, Count], key: Key) -> str:
    found = values.get(key)
    return "-" if found is None else f"{found.cycles:.0f}"


def table(found: Sequence[Count], kernel: Kernel) -> str:
    """Ours beside the paper's."""
    values = at_latency(found, LATENCY)
    cpus = sorted({n for name, n, _ in values if name == kernel.name})
    head = ["operation", *(f"{n} here" for n in cpus), "instructions, 1 CPU"]
    head += [f"{n} in the paper" for n in PAPER_CPUS]
    rows = []
    for operation, (_, paper) in PAPER.items():
        one = values.get((kernel.name, 1, operation))
        rows.append(
            [
                operation,
                *(_cell(values, (kernel.name, n, operation)) for n in cpus),
                "-" if one is None else f"{one.instructions:.0f}",
                *("-" if n is None else str(n) for n in paper),
            ]
        )
    return markdown.table(head, rows)


def verdict(found: Sequence[Count], kernel: Kernel) -> str:
    """On which rows fewer cycles are needed, and how both grow from 1 to 6 processors."""
    values = {
        (cpus, operation): count.cycles
        for (name, cpus, operation), count in at_latency(found, LATENCY).items()
        if name == kernel.name
    }
    better, all_, ours, theirs = 0, 0, [], []
    for operation, (_, paper) in PAPER.items():
        for cpus, cycles in zip(PAPER_CPUS, paper, strict=True):
            if cycles is not None and (cpus, operation) in values:
                all_ += 1
                better += values[cpus, operation] < cycles
        if paper[0] is not None and paper[-1] is not None and (6, operation) in values:
            ours.append(values[6, operation] / values[1, operation])
            theirs.append(paper[-1] / paper[0])
    text = f"Fewer cycles than in the paper in {better} of {all_} cells."
    if ours:
        text += (
            f" From 1 to 6 processors the operations take {min(ours):.1f} to {max(ours):.1f} times "
            f"as long here, {min(theirs):.1f} to {max(theirs):.1f} times in the paper."
        )
    return text


def slower(found: Sequence[Count]) -> str:
    """How many times as long operations take with the slowest memory as with the fastest."""
    low, high = (at_latency(found, latency) for latency in (LATENCIES[0], LATENCIES[-1]))
    ratios = [high[key].cycles / low[key].cycles for key in low.keys() & high.keys()]
    return f"{min(ratios):.1f} to {max(ratios):.1f} times"


def draw(found: Sequence[Count], path: Path) -> None:
    """Cycles against the latency of the second level, on 4 CPUs."""
    with figure(path, width=9.0, height=5.5) as axes:
        for kernel, style in ((KERNELS[0], "-"), (KERNELS[1], "--")):
            for at, operation in enumerate(PAPER):
                points = sorted(
                    (c.latency, c.cycles)
                    for c in found
                    if (c.kernel, c.cpus, c.operation) == (kernel.name, PLOTTED_CPUS, operation)
                )
                label = operation if style == "-" else None
                axes.plot(*zip(*points, strict=True), f"C{at}{style}", marker=".", label=label)
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_xlabel("latency of the second level, cycles")
        axes.set_ylabel("cycles, mean")
        axes.set_title(
            f"{PLOTTED_CPUS} CPUs; lines: {KERNELS[0].what}, dashes: {KERNELS[1].what}",
            fontsize="medium",
        )
        axes.grid(alpha=0.3)
        axes.figure.legend(fontsize="small", loc="outside right upper")


HEAD = """\
Pétrot, Gomez and Hommais measured a POSIX-threads kernel on a cycle-true simulation of MIPS R3000
processors. Here Pirn runs on the chip of `hw/`, a cycle-true simulation of RISC-V processors
(RV32IMA) written in SystemVerilog. Each number is the mean of at least 1,000 calls of a function
of POSIX threads while all processors do the same at once (`bench/board/kernel_cycles.c`). The
second level of memory answers after {latency} cycles, and the way to it and back takes about 15
more; the paper does not state its latency. "Small" is a library without tracing, statistics,
cancellation, priorities and reports of deadlocks, as the paper's kernel; "whole" has all of that,
not in use.

What the rows mean, and why most cells are larger than in the paper:

- The paper's operations are those of a kernel with one kind of mutex and no clean-up at the end
  of a thread. Pirn's have a larger contract: kinds of mutexes, a fair hand-over after a time,
  waits with deadlines, thread-specific data, stacks that are freed. The instructions, in a column
  of their own, show what that costs.
- A compare-and-swap on RV32IMA is a load-reserved and a store-conditional. Both go to the second
  level, one after the other. The paper's processors have a device for locks, which one uncached
  read takes.
- "To the next thread" includes the switch, up to the first instruction of the next thread. The
  paper does not say whether its 117 cycles for a lock that suspends, which are fewer than its 172
  for a switch, include one.
- The small library gives back the stack of a thread that has ended, and makes a new one for the
  next thread. The whole one keeps stacks for reuse, so there a thread takes fewer cycles to create.
- [Without coherent caches](incoherent.md) has the operations and programs on a chip whose caches
  are not coherent.
- "Interrupt" is the time that a computing thread loses when the timers of all processors are due
  in the same cycle."""


def page(
    found: Sequence[Count],
    facts: Mapping[str, str],
    why: Sequence[str] = (),
    more: Sequence[str] = (),
    sizes: Sequence[str] = (),
) -> str:
    """sizes: Table 1; why: the section of reasons; more: sections that follow."""
    parts = [
        markdown.begin(
            "A kernel of POSIX threads on an on-chip multiprocessor, here", "mips", "/mips.py"
        ),
        HEAD.format(latency=LATENCY),
        markdown.facts(facts),
        *sizes,
        "## Table 2: cycles of operations",
    ]
    for kernel in KERNELS:
        if any(c.kernel == kernel.name for c in found):
            parts += [f"### {kernel.what[0].upper()}{kernel.what[1:]} (`{kernel.policy}`)"]
            parts += [table(found, kernel), verdict(found, kernel)]
    parts += why
    if len({c.latency for c in found}) > 1:
        parts += [
            "## Cycles against memory latency",
            markdown.picture(PICTURE, f"Cycles of operations against latency, {PLOTTED_CPUS} CPUs"),
            f"The same code takes {slower(found)} as many cycles if the second level answers after "
            f"{LATENCIES[-1]} cycles instead of {LATENCIES[0]}: locks, queues and contexts of "
            "threads move between the processors' caches. So a comparison of kernels needs the "
            "latency of their memories, which the paper does not state.",
        ]
    return "\n\n".join([*parts, *more]) + "\n"


def write_csv(path: Path, found: Sequence[Count]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(list(Count.__dataclass_fields__))
        for one in found:
            writer.writerow([getattr(one, name) for name in Count.__dataclass_fields__])


def parts(what: Mapping[Run, What], apps: Mapping[Run, tuple[str, str, int]]) -> dict[Run, str]:
    """The part of the page that shows each run."""
    tables = {
        run: "Table 2" if one.latency == LATENCY else "other latencies" for run, one in what.items()
    }
    return tables | {run: f"applications: {app}" for run, (app, *_) in apps.items()}


def reproduce(root: Path, folder: Path, jobs: int, short_: bool, console: Console) -> None:
    from pirn_tools.figures import mips_apps as apps
    from pirn_tools.figures import mips_reasons, mips_sizes

    what = plan(root, short_)
    sweep = on_chip.sweep(root, jobs)
    results = sweep.run(list(what), console)
    found = counts(results, what)
    programs = {} if short_ else apps.plan(root, sweep.folder)
    if programs:
        results |= apps.measure(sweep, list(programs), console)
    timed = apps.timings(results, programs)
    (folder / "img").mkdir(parents=True, exist_ok=True)
    write_csv(folder / "mips.csv", found)
    why, more = [], []
    if not short_:
        draw(found, folder / "img" / PICTURE)
        apps.draw_all(timed, folder / "img")
        why, more = mips_reasons.section(found), apps.section(timed)
    facts = on_chip.facts(
        root,
        f"mips{' --short' if short_ else ''}",
        f"{RAM_MIB} MiB, 4 banks, one hardware thread a core",
        results.values(),
    )
    more += on_chip.cost_section(results, parts(what, programs), "loads of the applications")
    text = page(found, facts, why, more, mips_sizes.section(root))
    on_chip.write(folder / "mips.md", text, console)
