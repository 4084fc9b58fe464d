#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures what profiling costs: instrumented functions, samples, and the look-ups of call trees.

    .venv/bin/python bench/run_profiling.py [--rounds 7] [--publish]

Writes into --output (results/): profiling-cost.csv, profiling-cost.md, profiling-rate.png,
profiling-hash.png, profiling-blocks.png. With --publish also
docs/results/profiling-cost.md, between its two marks, and its pictures; that page says how it is
measured.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from harness import page, profiling, profiling_waits, profiling_x264, session
from harness.profiling import Case, Measured
from harness.tables import markdown
from pirn_tools import paths
from pirn_tools.demo.clip import ClipShape, make_clip
from pirn_tools.errors import UserError
from pirn_tools.plotting import figure
from rich.console import Console

PICTURES = ("profiling-rate.png", "profiling-hash.png", "profiling-blocks.png")
RATES = (250, 500, 1000, 2000, 4000, 8000, 16000)
SHORT = 5  # runs that samples are taken of are so many times shorter, and more
CALLS, SAMPLES, PROGRAMS = "calls", "samples", "programs"


def arguments() -> argparse.Namespace:
    parser = session.parser_of(__doc__, rounds=7)
    parser.add_argument("--puzzles", type=int, default=300, help="work of a run [300]")
    parser.add_argument(
        "--publish", action="store_true", help="into docs/results/profiling-cost.md"
    )
    options = parser.parse_args()
    session.at_least_one(parser, options, "rounds", "puzzles")
    return options


def sudoku_cases(build: Path, profile: dict[str, str], puzzles: int) -> list[Case]:
    apps = build / "apps"

    def sudoku(part: str, name: str, kind: str, env: dict[str, str] | None = None) -> Case:
        work = ("--puzzles", str(max(puzzles // SHORT, 1) if part == SAMPLES else puzzles))
        own = {"PIRN_CPUS": "1"} if kind != "gprof" else {}
        return Case(part, name, (str(apps / f"sudoku-{kind}"), *work), {**own, **(env or {})})

    cases = [
        sudoku(CALLS, "not instrumented", "pirn"),
        sudoku(CALLS, "instrumented, no profile", "instrumented"),
        sudoku(CALLS, "instrumented, calls", "instrumented", {**profile, "PIRN_PROFRATE": "0"}),
        sudoku(CALLS, "instrumented, calls and samples", "instrumented", profile),
        sudoku(CALLS, "samples only", "pirn", profile),
        sudoku(CALLS, "gprof (-pg)", "gprof"),
    ]
    for rate in RATES:
        for name, hz in ((f"none before {rate}", 0), (str(rate), rate)):
            env = {**profile, "PIRN_PROFCLOCK": "wall", "PIRN_PROFRATE": str(hz)}
            cases.append(sudoku(SAMPLES, name, "pirn", env))
    return cases


def program_cases(
    root: Path, build: Path, binaries: Mapping[str, Path], profile: dict[str, str]
) -> list[Case]:
    """Whole programs, on the demo's clip."""
    clip = make_clip(root / "build/demo", ClipShape())
    argv = (str(build / "apps/mjpeg-pirn"), "--quiet", "--repeat=30", str(clip))
    return [
        *profiling_x264.cases(PROGRAMS, binaries, root, profile),
        Case(PROGRAMS, f"mjpeg: {profiling_x264.WITHOUT}", argv, {"PIRN_CPUS": "1"}),
        Case(PROGRAMS, "mjpeg: samples only", argv, profile),
    ]


def run_keeping_profile(case: Case, folder: Path) -> profiling.Facts:
    profiling.cpu_seconds(case, folder)
    return profiling.facts_of(folder / "profile")


def calls_text(measured: Measured, calls: int) -> str:
    base = "not instrumented"
    names = dict.fromkeys(n for p, n, _ in measured.seconds if p == CALLS)
    rows = []
    for name in names:
        seconds = measured.median(CALLS, name)
        ratio = measured.ratio(CALLS, name, base)
        instrumented = name.startswith("instrumented")
        pair = (seconds - measured.median(CALLS, base)) / calls * 1e9
        rows.append(
            [
                name,
                f"{1e3 * seconds:.0f}",
                f"{100 * (ratio - 1):+.1f} %",
                f"{pair:.1f}" if instrumented else "-",
            ]
        )
    return markdown(["sudoku", "CPU ms", "more", "ns a call"], rows)


def rate_points(measured: Measured) -> list[tuple[float, float]]:
    """More CPU time, in percent, than the run without samples just before."""
    ratios = ((rate, measured.ratio(SAMPLES, str(rate), f"none before {rate}")) for rate in RATES)
    return [(0, 0.0), *((rate, 100 * (ratio - 1)) for rate, ratio in ratios)]


def samples_text(measured: Measured) -> str:
    points = rate_points(measured)
    _, slope = profiling.fit(points)
    rows = [[f"{rate:.0f}", f"{more:+.2f} %"] for rate, more in points]
    text = markdown(["samples a second", "more CPU time"], rows)
    if slope > 0:
        text += (
            f"\n\nA line through these: {slope / 100 * 1e6:.2f} us a sample, 1 % at "
            f"{1 / slope:,.0f} samples a second."
        )
    return text


def draw_rates(path: Path, measured: Measured) -> None:
    points = rate_points(measured)
    at_zero, slope = profiling.fit(points)
    with figure(path, width=7.0, height=4.0) as axes:
        axes.plot(*zip(*points, strict=True), "o", label="measured (median of paired ratios)")
        ends = [points[0][0], points[-1][0]]
        axes.plot(ends, [at_zero + slope * x for x in ends], "-", label="least squares")
        axes.axhline(1.0, color="gray", linewidth=0.8, linestyle="--")
        axes.text(ends[1], 1.0, "1 %", ha="right", va="bottom", color="gray")
        axes.set_xlabel("samples a second")
        axes.set_ylabel("more CPU time, %")
        axes.grid(alpha=0.3)
        axes.legend(fontsize="small")


def programs_text(
    measured: Measured, cases: Sequence[Case], x264: profiling.Facts, version: str
) -> str:
    rows = []
    for name in (case.name for case in cases if case.part == PROGRAMS):
        base = f"{name.split(':')[0]}: {profiling_x264.WITHOUT}"
        seconds, without = measured.median(PROGRAMS, name), measured.median(PROGRAMS, base)
        more = 100 * (measured.ratio(PROGRAMS, name, base) - 1)
        pair = f"{(seconds - without) / x264.calls * 1e9:.1f}" if "instrumented," in name else "-"
        rows.append([name, f"{1e3 * seconds:.0f}", f"{more:+.1f} %", pair])
    hit, _ = profiling.hit_rate(x264.distances)
    said = (
        f"x264 is Debian's {version}. Instrumented it makes {x264.calls:,} calls by {x264.nodes:,} "
        f"ways to functions; {100 * hit:.2f} % of the look-ups find their node at once.\n\n"
    )
    return said + markdown(["program", "CPU ms", "more", "ns a call"], rows)


def hash_text(facts: profiling.Facts) -> str:
    hit, more = profiling.hit_rate(facts.distances)
    rows = [
        [str(d), f"{n:,}", f"{100 * n / max(facts.calls, 1):.4f} %"]
        for d, n in sorted(facts.distances.items())
        if n
    ]
    return (
        f"{facts.calls:,} calls, {facts.nodes} ways to functions: {100 * hit:.2f} % of the "
        f"look-ups find their node at once; on average {more:.4f} places more are looked at.\n\n"
        + markdown(["distance", "look-ups", "share"], rows)
    )


def draw_hash(path: Path, facts: profiling.Facts) -> None:
    found = {d: n for d, n in sorted(facts.distances.items()) if n}
    with figure(path, width=7.0, height=4.0) as axes:
        axes.bar(list(found), [100 * n / max(facts.calls, 1) for n in found.values()])
        axes.set_yscale("log")
        axes.set_xlabel("places behind the one that the hash names")
        axes.set_ylabel("share of look-ups, %")
        axes.grid(axis="y", alpha=0.3)


def blocks_text(root: Path, scratch: Path, picture: Path) -> str:
    """The results of lists of blocks in each node (Figures 4.4 and 4.5)."""
    argv = [str(root / ".venv/bin/pirn"), "prof", "stat", "--blocks", "--plot", str(picture)]
    done = subprocess.run(
        [*argv, str(scratch / "profile")],
        env={**os.environ, "PYTHONPATH": str(root / "tools")},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise UserError(f"pirn prof stat --blocks: {done.stderr.strip()}")
    table = done.stdout[done.stdout.index("slots") :].rstrip()
    return f"Lists of blocks in each node, for the same calls:\n\n```\n{table}\n```"


def run() -> int:
    console = Console()
    options = arguments()
    place = session.place_of(options)
    root, build, output = place.root, place.build, place.output
    session.build_what(console, options, place, "the applications", "apps/all", "bench/all")
    if not options.no_build:
        with console.status("building x264 from Debian's source package, three times"):
            binaries = profiling_x264.make(root, build / "lib")
    else:
        binaries = profiling_x264.built(root)
    facts = page.machine_before(root, build)
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="pirn-bench-") as folder:
        scratch = Path(folder)
        profiled = {"PIRN_PROF": str(scratch / "profile"), "PIRN_CPUS": "1"}
        cases = sudoku_cases(build, profiled, options.puzzles)
        cases += program_cases(root, build, binaries, profiled)
        named = {case.name: case for case in cases}
        x264 = run_keeping_profile(named[profiling_x264.CALLS], scratch)
        profile = run_keeping_profile(named["instrumented, calls"], scratch)
        blocks = blocks_text(root, scratch, output / PICTURES[2])
        rounds = {CALLS: options.rounds, SAMPLES: SHORT * options.rounds, PROGRAMS: options.rounds}
        total = sum(rounds[case.part] for case in cases) + profiling_waits.steps(options.rounds)
        with session.progress_of(console, total) as step:
            measured = profiling.measure(cases, rounds, scratch, step)
            micro = build / "bench/micro-pirn-pthread"
            waits = profiling_waits.measure(micro, profiled, options.rounds, step)
    profiling.write_csv(output / "profiling-cost.csv", measured)
    draw_rates(output / PICTURES[0], measured)
    draw_hash(output / PICTURES[1], profile)
    facts = page.machine_after(facts, root, build, options.rounds, begun)
    parts = [session.heading("What profiling costs", facts)]
    parts += ["### Calls", calls_text(measured, profile.calls)]
    parts += ["### Samples", samples_text(measured)]
    parts += ["### Waits", profiling_waits.text(waits)]
    version = profiling_x264.version(root)
    parts += ["### Whole programs", programs_text(measured, cases, x264, version)]
    parts += ["### Look-ups", hash_text(profile), blocks]
    text = "\n\n".join(parts)
    session.show(console, place, "profiling-cost.md", text)
    if options.publish:
        page.publish(root / "docs/results/profiling-cost.md", text, output, PICTURES)
    console.print(f"written: {paths.short(output / 'profiling-cost.md')}")
    return 0


if __name__ == "__main__":
    session.main("run_profiling.py", run)
