# SPDX-License-Identifier: MIT
"""Wikene, Implementing a Bare-Metal Threading Library for SHMAC: chapters 3 and 5.

We describe the thesis's results in our words, after its text; numbers in tables are its own.
"""

from __future__ import annotations

from pirn_tools.figures import facts
from pirn_tools.figures.plan import LOAD, TICKS, TIMELINE, Item, Picture, Run, Set, Table

SOURCE = "Wikene, Implementing a Bare-Metal Threading Library for SHMAC"
TICK = 10_000
TRIES = 5
GAPS = (
    "The gaps are there, too, hundreds of times shorter. With fewer processors than CPUs, a woken "
    "CPU may have to wait until one that searches for work goes to sleep: 200 µs (`PIRN_SPIN`). "
    "Without that (`PIRN_SPIN=0`) two processors needed 8 µs."
)
DEALT = "dist:discipline=shmac"
ASKED = "request:discipline=shmac"

HEAD = f"""The thesis
{SOURCE}
(chapters 3 and 5) has figures and tables of traces. This page has the same from runs of Pirn. The
copy of the thesis that was used has no pictures, so our figures are compared with the numbers and
shapes in its text.

The two systems differ in these points:

- *Scheduler.* The thesis's library gives a new task to the least busy core, and a core without work
  asks others. Here two policies do that: `dist` places threads on CPUs, `request` asks. Each figure
  names its policy. Within a CPU the order is the thesis's (`discipline=shmac`).
- *Tick.* The thesis has 10 Hz; here it is 100 Hz (a slice is a tick). A worker has as much work as
  it takes for about the same number of ticks: a second there is a tenth of a second of CPU time
  here.
- *CPUs.* The thesis has four cores without caches. Here each CPU is a kernel thread, and these
  share the processors named below. Ticks count the CPU time of the kernel thread. With fewer
  processors than CPUs there are fewer ticks in a second, and the times of the CPUs add up to more
  than the machine has.
- *Joins.* In the thesis the joiner's core finds out at its next tick. Here the ending thread makes
  the joiner ready and wakes its CPU, so a chain of joins takes milliseconds. For the tables, chains
  are repeated until there are ticks to count. Pictures of single chains show the shortest of
  {TRIES} runs.
- *Interrupts.* Here these are ticks, with the time in their handlers. In the thesis it is the time
  in the scheduler's function, which also runs when tasks end or block."""


def _chain(name: str, threads: int, sched: str) -> Run:
    """One chain, over in milliseconds: of several runs the shortest."""
    arguments = (f"--threads={threads}",)
    return Run(name, "join_chain", arguments, arguments, 4, sched, TRIES)


RUNS = (
    _chain("chain-25", 25, DEALT),
    _chain("chain-25-request", 25, ASKED),
    Run(
        "request",
        "master_worker",
        ("--threads=6", "--work=100"),
        ("--threads=6", "--work=60"),
        2,
        ASKED,
    ),
    *(
        Run(
            f"workers-{number}",
            "master_worker",
            (f"--threads={number}", "--work=1300"),
            (f"--threads={number}", "--work=100"),
            4,
            DEALT,
        )
        for number in (4, 40, 400)
    ),
    _chain("chain-40", 40, DEALT),
    Run(
        "chains-40",
        "join_chain",
        ("--threads=40", "--repeat=200"),
        ("--threads=40", "--repeat=5"),
        4,
        DEALT,
    ),
    _chain("chain-400", 400, DEALT),
    Run(
        "chains-400",
        "join_chain",
        ("--threads=400", "--repeat=20"),
        ("--threads=400", "--repeat=2"),
        4,
        DEALT,
    ),
)

# The rows of the thesis's tables, as trace/show.py calls them.
ROWS = (
    "Number of interrupts",
    "Total program time (ms)",
    "Total time in interrupts (ms)",
    "Total time in interrupts (%)",
    "Average time in interrupts (ms)",
    "Interrupts per second",
    "Shortest interrupt (ms)",
    "Longest interrupt (ms)",
)


def _table(title: str, run: str, *rows: str) -> Table:
    cells = (tuple(row.split()) for row in rows)
    return Table(title, run, dict(zip(ROWS, cells, strict=True)))


TABLE_1 = _table(
    "Table 5.1",
    "workers-4",
    "58 56 56 55",
    "5487 5420 5419 5383",
    "21.814 13.332 12.756 12.433",
    "0.398 0.246 0.235 0.231",
    "0.376 0.238 0.228 0.226",
    "10.6 10.3 10.3 10.2",
    "0.322 0.204 0.204 0.221",
    "0.543 0.695 0.475 0.492",
)
TABLE_2 = _table(
    "Table 5.2",
    "workers-40",
    "73 65 66 66",
    "5564 5504 5503 5503",
    "38.318 36.944 36.605 36.622",
    "0.689 0.671 0.665 0.665",
    "0.525 0.568 0.555 0.555",
    "13.1 11.8 12.0 12.0",
    "0.322 0.237 0.187 0.204",
    "1.187 0.746 0.678 0.678",
)
TABLE_3 = _table(
    "Table 5.3",
    "workers-400",
    "157 160 162 157",
    "5907 5909 5917 5905",
    "81.572 83.048 82.437 77.688",
    "1.381 1.405 1.393 1.316",
    "0.520 0.519 0.509 0.495",
    "26.6 27.1 27.4 26.6",
    "0.237 0.187 0.204 0.187",
    "1.340 3.850 0.916 0.899",
)
TABLE_5 = _table(
    "Table 5.5",
    "chains-40",
    "39 21 40 37",
    "1746 1690 1690 1690",
    "24.799 15.673 23.544 20.491",
    "1.420 0.927 1.393 1.213",
    "0.636 0.746 0.589 0.554",
    "22.3 12.4 23.7 21.9",
    "0.356 0.356 0.221 0.221",
    "1.408 1.306 1.120 1.153",
)
TABLE_6 = _table(
    "Table 5.6",
    "chains-400",
    "441 406 453 502",
    "28326 28425 28326 28425",
    "350.884 320.199 316.365 357.228",
    "1.239 1.126 1.117 1.257",
    "0.796 0.789 0.698 0.712",
    "15.6 14.3 16.0 17.7",
    "0.390 0.221 0.221 0.221",
    "6.988 4.716 2.188 1.340",
)

ITEMS = (
    Item(
        "Figure 3.3: 25 threads, each joins the one before it",
        "Tasks are created and started between 0.2 and 0.3 s, block at once in their joins, and "
        "go on one by one. Each joins one of the neighbouring core, which costs a tick of 100 ms; "
        "only 3 ms where core 0 joins, whose timer is ahead.",
        facts.chain,
        Picture(
            "3.3",
            TIMELINE,
            "chain-25",
            ("spawn", "join"),
            begin="spawn",
            alt="a chain of 25 joins across 4 CPUs",
        ),
        remark="The red bar at the beginning is main, which creates the threads.",
    ),
    Item(
        "Figure 3.3 under `request`: joins within a CPU",
        "Joins within a core are described as immediate: a task that blocks or ends lets the next "
        "one run.",
        facts.chain,
        Picture(
            "3.3-request",
            TIMELINE,
            "chain-25-request",
            ("start", "exit"),
            begin="start",
            end="join",
            alt="the same chain, each join within a CPU",
        ),
        remark="The run after main has created the threads. Threads stay where they are made "
        "unless a CPU asks in time. If one has got the first thread, the joiners go on there, one "
        "after the other. Hatched: the CPU's kernel thread has not begun.",
    ),
    Item(
        "Figure 3.4: CPU 1 requests work from CPU 0",
        "All tasks begin on core 0, and core 1 runs its idle task. It sends two requests before an "
        "answer is there; both are answered with a task, so it has two. A core gives one away if "
        "it has more than two. An answer may take two slices.",
        facts.requests,
        Picture(
            "3.4",
            TIMELINE,
            "request",
            ("request", "answer"),
            alt="CPU 1 asks CPU 0 for work and gets it",
        ),
        remark="Six workers. A CPU looks for requests when its scheduler is entered, here at a "
        "tick. To one CPU at most one request is under way, so CPU 1 has no second thread.",
    ),
    Item(
        "Figure 3.5: threads that start late, number of times chosen from 0",
        "Tasks 17 to 20 are made at equal intervals, with equal work. Tasks 18, 19 and 20 each run "
        "alone for about 0.5 s, as long as 17 had run, before they share.",
        "zero",
        Picture("3.5", TICKS, "zero", alt="new threads run alone for as long as the first one did"),
        remark="In the simulator: [classes](../guide/classes.md#threads-that-start-late).",
    ),
    Item(
        "Figure 3.6: the same with the creator's number",
        "A new task begins with the number of the one that runs, and shares evenly at once.",
        "creator",
        Picture("3.6", TICKS, "creator", alt="new threads share at once"),
    ),
    Item(
        "Figure 5.3 and Table 5.1: 4 workers on 4 CPUs",
        "Each worker has a core of its own from beginning to end, about 5.4 s; main waits. "
        "On average 0.28 % of the time goes to the scheduler.",
        facts.workers,
        Picture(
            "5.3",
            TIMELINE,
            "workers-4",
            ("start", "exit"),
            alt="4 workers, one on each CPU",
        ),
        TABLE_1,
    ),
    Item(
        "Figure 5.4 and Table 5.2: 40 workers on 4 CPUs",
        "Ten times the threads, each with a tenth of the work, in about the same 5.5 s. An "
        "interrupt takes 0.550 ms on average, about twice as long as with 4 workers.",
        facts.workers,
        Picture("5.4", TIMELINE, "workers-40", ("exit",), alt="40 workers take turns on 4 CPUs"),
        TABLE_2,
    ),
    Item(
        "Table 5.3: 400 workers on 4 CPUs",
        "No picture. An interrupt takes 0.511 ms on average, a little less than with 40 workers; "
        "there are more interrupts, so that 1.37 % of the time goes to the scheduler.",
        facts.workers,
        table=TABLE_3,
        remark="Here most workers end before their slice does. Threads change because they end, "
        "and that is no interrupt.",
    ),
    Item(
        "Figure 5.5: a chain of 40 joins",
        "Gaps, in which cores idle, between short runs: each join waits for the scheduler of its "
        "core. All of it takes about 2 s, as 40 threads at 20.1 runs of the scheduler a second do.",
        facts.chain,
        Picture(
            "5.5",
            TIMELINE,
            "chain-40",
            ("join",),
            begin="spawn",
            alt="a chain of 40 joins across 4 CPUs",
        ),
        remark=GAPS,
    ),
    Item(
        "Table 5.5: 40 threads, chains",
        "1.7 s; the share of the scheduler is 0.9 to 1.4 %, since it runs more often.",
        facts.chain,
        table=TABLE_5,
    ),
    Item(
        "Figure 5.6: a chain of 400 joins, load of each CPU",
        "The load of each core over 28.3 s. The text states nothing about its shape.",
        facts.load,
        Picture(
            "5.6",
            LOAD,
            "chain-400",
            begin="spawn",
            alt="threads of each CPU during a chain of 400 joins",
        ),
        remark="At the beginning the threads are created and run up to their joins; from then on "
        "one thread can run at a time.",
    ),
    Item(
        "Table 5.6: 400 threads, chains",
        "28.3 s; 0.7 to 0.8 ms an interrupt. The largest part of that, 23 %, looks through the "
        "tasks that wait to join.",
        facts.chain,
        table=TABLE_6,
        remark="A waiting joiner costs nothing here: it is in no list that is looked through.",
    ),
)

SHMAC = Set("shmac", SOURCE, HEAD, TICK, RUNS, ITEMS)
