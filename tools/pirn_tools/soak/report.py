# SPDX-License-Identifier: MIT
"""The tables of the terminal, the page docs/results/soak.md, and the samples as CSV."""

from __future__ import annotations

import statistics
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pirn_tools.soak import judge
from pirn_tools.soak.judge import percentile
from pirn_tools.soak.loads import Load, Served
from pirn_tools.soak.run import JUDGED_FROM, LONGEST_WARM_UP, WARM_UP, Result
from pirn_tools.world.compare import NPTL, PIRN
from pirn_tools.world.report import cells

CONTROL = "(none: sleep)"
TITLES = {NPTL: "NPTL", PIRN: "Pirn"}

HEAD = """<!-- SPDX-License-Identifier: MIT -->
<!-- Written by `make soak`. -->
# Servers under load for a long time

Three servers, unchanged binaries of Debian, run at once under load: first with the system's threads
(NPTL), then by `pirn run`. Their clients have the system's threads in both runs.
"""

LATENCIES = f"""A request is due at a random moment, whether or not earlier ones have been answered;
rates are below what the servers can do. Its latency counts from that moment, so it also contains
delays of the client. Latencies of the first {WARM_UP:.0%} of a run, at most
{LONGEST_WARM_UP:.0f} s, are left out. Clients know what each reply has to be. A wrong
reply, or none, is an error, and so is an error that a server or client prints. One error fails the
run. *At* is when the longest latency ended, in minutes and seconds of the run.
*{CONTROL}* is a process that sleeps for 10 ms, again and
again, and by how much it is late: what the machine takes from all."""

MEMORY = f"""Each server is sampled with the processes that it has started. *Memory* is what they
hold in RAM, without the pages of files; a shared page counts once. *Before* is the median of the
second quarter of the run, *after* that of the last. A run of {JUDGED_FROM:g} minutes or more fails
if memory, the number of descriptors or that of kernel threads grows by more than
{judge.MOST_GROWTH:.0%} from the one to the other (and by more than {judge.MEMORY_STEP >> 10} KiB,
or {judge.COUNT_STEP}). *CPU* is the server's share of one CPU."""


@dataclass(frozen=True)
class Run:
    """All servers with one kind of threads."""

    kind: str  # NPTL, PIRN
    minutes: float
    results: Sequence[Result]
    control: Served | None = None

    @property
    def name(self) -> str:
        return f"{TITLES[self.kind]}, {self.minutes:g} min"


Table = tuple[list[str], list[list[str]]]  # head, rows


def milliseconds(microseconds: float) -> str:
    value = microseconds / 1000
    return f"{value:,.2f}" if value < 100 else f"{value:,.0f}"


def latencies(runs: Sequence[Run]) -> Table:
    head = ["requests to", "threads", "requests", "errors", "p50, ms", "p99", "p99.9", "max", "at"]
    rows = []
    kinds = dict.fromkeys(kind for run in runs for one in run.results for kind in one.served)
    for kind in kinds:
        for run in runs:
            for served in (one.served[kind] for one in run.results if kind in one.served):
                rows.append([kind, TITLES[run.kind], *_latency_cells(served)])
    rows += [
        [CONTROL, TITLES[run.kind], *_latency_cells(run.control)] for run in runs if run.control
    ]
    return head, rows


def _latency_cells(served: Served) -> list[str]:
    times = [
        milliseconds(percentile(served.latencies, percent)) if served.latencies else "-"
        for percent in judge.PERCENTILES
    ]
    minutes, seconds = divmod(int(served.worst_at), 60)
    return [f"{served.done:,}", str(served.failed), *times, f"{minutes}:{seconds:02}"]


def resources(runs: Sequence[Run]) -> Table:
    head = ["server", "threads", "memory before, MB", "after", "growth", "descriptors"]
    head += ["kernel threads", "processes", "CPU"]
    rows = []
    names = dict.fromkeys(one.load.name for run in runs for one in run.results)
    for name in names:
        for run in runs:
            for one in run.results:
                if one.load.name == name:
                    rows.append([name, TITLES[run.kind], *_resource_cells(one)])
    return head, rows


def _resource_cells(one: Result) -> list[str]:
    memory = one.growth("memory")
    if memory is None:
        return ["-"] * 7
    words = [f"{memory.before / 1e6:.1f}", f"{memory.after / 1e6:.1f}", f"{memory.share:+.1%}"]
    for what in ("descriptors", "threads"):
        found = one.growth(what)
        assert found is not None  # noqa: S101, the same samples
        words.append(f"{found.before:g}, {found.after:g}")
    words.append(f"{statistics.median(each.processes for each in one.samples):g}")
    return [*words, cpu(one)]


def cpu(one: Result) -> str:
    first, last = one.samples[0], one.samples[-1]
    passed = last.seconds - first.seconds
    return f"{(last.cpu - first.cpu) / passed:.1%}" if passed else "-"


def failures(runs: Sequence[Run]) -> list[str]:
    return [
        f"{one.load.name} with {TITLES[run.kind]}: {failure}"
        for run in runs
        for one in run.results
        for failure in one.failures
    ]


def versions(loads: Sequence[Load], packages: Mapping[str, Sequence[str]]) -> list[str]:
    lines = []
    for load in loads:
        named = load.program.packages
        found = [one for one in packages.get(load.program.name, ()) if one.split("=")[0] in named]
        text = ", ".join(found).replace("=", " ") or f"the machine's {', '.join(named)}"
        lines.append(f"- {load.name}: {text}")
    return lines


def markdown(table: Table) -> list[str]:
    head, rows = table
    return [cells(head), cells(["---", "---", *["--:"] * (len(head) - 2)]), *map(cells, rows)]


def page(
    runs: Sequence[Run],
    loads: Sequence[Load],
    packages: Mapping[str, Sequence[str]],
    about: Sequence[str],
) -> str:
    parts = [HEAD, *(f"- {one}" for one in about), "", "## Loads", ""]
    parts += [textwrap.fill(f"- {one.about()}.", 100, subsequent_indent="  ") for one in loads]
    parts += ["", "## Latency", "", LATENCIES, "", *markdown(latencies(runs))]
    parts += ["", "## Memory, descriptors, kernel threads", "", MEMORY, ""]
    parts += [*markdown(resources(runs)), "", "## What fails", ""]
    parts += [f"- {one}" for one in failures(runs)] or ["Nothing."]
    parts += ["", "## Versions", "", *versions(loads, packages)]
    return "\n".join(parts) + "\n"


def csv(runs: Sequence[Run]) -> str:
    """Every sample."""
    lines = ["threads,server,seconds,memory_bytes,descriptors,kernel_threads,processes,cpu_seconds"]
    for run in runs:
        for one in run.results:
            lines += [
                f"{run.kind},{one.load.name},{each.seconds:.1f},{each.memory},{each.descriptors},"
                f"{each.threads},{each.processes},{each.cpu:.2f}"
                for each in one.samples
            ]
    return "\n".join(lines) + "\n"
