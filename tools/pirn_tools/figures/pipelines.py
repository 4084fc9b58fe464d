# SPDX-License-Identifier: MIT
"""`pirn bench figures pipelines`: pipelines whose threads declare nothing, with and without learned
task affinity: programs on the machine at hand, and pipelines on the model of 64 cores."""

from __future__ import annotations

import json
import os
import statistics
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from pirn_tools import machine, paths
from pirn_tools.chip.sweep import at_once
from pirn_tools.demo.clip import ClipShape, make_clip
from pirn_tools.errors import UserError
from pirn_tools.figures import affinity_model as model
from pirn_tools.figures import markdown, on_chip
from pirn_tools.figures.affinity_real import Programs, alternating, environment
from pirn_tools.figures.affinity_words import signed
from pirn_tools.programs import inputs

STATS = "stats.json"
PLAIN, AUTO, NPTL = model.PLAIN, model.AUTO, "NPTL"
WAYS = (PLAIN, AUTO, NPTL)
ROUNDS, SHORT_ROUNDS = 15, 2
NUMBERS = (12, 24)  # pipelines of five stages on 64 cores
BUFFERS = (16, 64)  # KB
SAMPLES = 30
SEEDS, SHORT_SEEDS = 2, 1
# In pipelines threads move, so near before far counts: these also without the runtime's knowledge
# of nodes.
FLAT_WAYS = (PLAIN, model.DECLARED, AUTO)
MODEL_WAYS = (
    PLAIN,
    model.OLD,
    model.DECLARED,
    AUTO,
    *(f"{way}{model.FLAT}" for way in FLAT_WAYS),
    "dist",
    "dist:affinity=declared",
    "dist:affinity=auto",
)


@dataclass(frozen=True)
class Program:
    name: str
    what: str
    pirn: tuple[str, ...]
    nptl: tuple[str, ...]
    preloaded: bool = False

    def words(self, way: str, library: Path, folder: Path) -> list[str]:
        """What they write is in the folder."""
        words = [word.replace("{folder}", str(folder)) for word in self.of(way)]
        if way == NPTL:
            return [*environment(), *words]
        settings = {"PIRN_SCHED": way, "PIRN_STATS": f"json:{folder / STATS}"}
        if self.preloaded:
            settings["LD_PRELOAD"] = str(library)
        return [*environment(**settings), *words]

    def of(self, way: str) -> tuple[str, ...]:
        return self.nptl if way == NPTL else self.pirn


@dataclass(frozen=True)
class Run:
    seconds: float
    migrations: int
    here: int  # consumers that went to a producer's CPU
    learned: int


@dataclass(frozen=True)
class Pipelines(model.Case):
    """`pairs` of them."""

    @property
    def title(self) -> str:
        return f"{self.pairs} pipelines, {self.buffer} KB, {self.way}"

    @property
    def workload(self) -> str:
        return "pipelines"


def same(name: str, what: str, program: str, *arguments: str) -> Program:
    """Preloaded for Pirn: one binary."""
    words = (program, *arguments)
    return Program(name, what, words, words, preloaded=True)


def programs(root: Path, build: Path) -> list[Program]:
    apps, cache = build / "apps", root / "build" / "demo"
    clip = make_clip(cache, ClipShape())
    text = inputs.text([root / "src", root / "docs"], cache / "sources.txt")
    video = inputs.video(cache, cache / "pipelines.y4m")

    def own(name: str, what: str, program: str, *arguments: str) -> Program:
        pirn, nptl = ((str(apps / f"{program}-{kind}"), *arguments) for kind in ("pirn", "nptl"))
        return Program(name, what, pirn, nptl)

    queue = str(build / "bench" / "condition-queue")
    ffmpeg = ["-v", "error", "-i", str(video), "-threads", "4", "-vf", "hqdn3d,unsharp"]
    return [
        own("mjpeg, stages", "a thread for each stage", "mjpeg", "--quiet", "--graph=stages",
            "--repeat=8", str(clip)),
        own("mjpeg, tasks", "a thread for each slice and stage", "mjpeg", "--quiet",
            "--repeat=8", str(clip)),
        own("dedup", "five stages, FIFOs between them", "dedup", str(text),
            "{folder}/packed"),
        same("condition variables, 16 KB", "C++ `std::condition_variable`, 2 pipelines of 4 stages",
             queue, "--items=10000"),
        same("condition variables, 256 KB", "the same, with buffers of 256 KB", queue,
             "--items=1000", "--buffer=262144"),
        same("ffmpeg", "decodes, filters, encodes to MPEG-4 with 4 threads", "ffmpeg", *ffmpeg,
             "-c:v", "mpeg4", "-f", "null", "-"),
    ]  # fmt: skip


def run(program: Program, way: str, library: Path) -> Run:
    with tempfile.TemporaryDirectory(prefix="pirn-") as folder:
        stats = Path(folder) / STATS
        words = program.words(way, library, Path(folder))
        begin = time.monotonic()
        model.execute(words, f"{program.name}, {way}")
        seconds = time.monotonic() - begin
        if way == NPTL:
            return Run(seconds, 0, 0, 0)
        if not stats.exists():
            raise UserError(f"{program.name}: it did not run on Pirn's threads")
        told = json.loads(stats.read_text(encoding="utf-8"))
    own: Mapping[str, int] = told.get("own", {})
    placed = own.get("affinity-here", 0) + own.get("affinity-there", 0)
    return Run(seconds, told["migrations"], placed, own.get("affinity-learned", 0))


# ---- the page ----


Runs = Mapping[tuple[str, str], Sequence[Run]]


def ratios(found: Runs, name: str, way: str) -> list[float]:
    """Of each round, against the plain policy in the same round."""
    pairs = zip(found[name, way], found[name, PLAIN], strict=True)
    return [one.seconds / plain.seconds for one, plain in pairs]


def middle(values: Sequence[float]) -> float:
    return statistics.median(values)


def quartiles(values: Sequence[float]) -> tuple[float, float]:
    low, _, high = statistics.quantiles(values, n=4)
    return low, high


def verdict(values: Sequence[float]) -> str:
    """Unless half of the rounds and more are on one side of 1."""
    low, high = quartiles(values)
    if low > 1:
        return "slower"
    return "faster" if high < 1 else "no difference"


def real_table(found: Runs, each: Sequence[Program]) -> str:
    rows = []
    for program in each:
        plain, auto = (found[program.name, way] for way in (PLAIN, AUTO))
        against = ratios(found, program.name, AUTO)
        low, high = quartiles(against)
        rows.append(
            [
                program.name,
                f"{middle([one.seconds for one in plain]):.3f}",
                f"{middle(against):.3f} ({low:.3f} to {high:.3f})",
                verdict(against),
                f"{middle(ratios(found, program.name, NPTL)):.2f}",
                f"{middle([one.migrations for one in plain]):,.0f}",
                f"{middle([one.migrations for one in auto]):,.0f}",
                f"{middle([one.here for one in auto]):,.0f}",
            ]
        )
    head = ["", f"`{PLAIN}`, s", "`auto` / plain", "verdict", "NPTL / plain"]
    head += ["migrations, plain", "`auto`", "placed at a producer"]
    return markdown.table(head, rows, left=(0, 3))


def plain_of(way: str) -> str:
    """The same without affinity."""
    flat = model.FLAT if way.endswith(model.FLAT) else ""
    return way.removesuffix(flat).partition(":")[0] + flat


def model_table(found: model.Points, buffer: int) -> str:
    rows = []
    for number in NUMBERS:
        for way in MODEL_WAYS:
            one = found[case(way, number, buffer)]
            plain = found[case(plain_of(way), number, buffer)]
            cells = [f"{one.mean:.0f} ± {one.sigma:.0f}"]
            cells.append("" if one is plain else signed(1 - one.mean / plain.mean))
            cells.append("" if one is plain else signed(1 - one.a2s / plain.a2s))
            counts = (one.by_sample("migrations"), one.misses("l1"), one.misses("llc"))
            cells += [f"{count / number:.1f}" for count in counts]
            cells.append(f"{one.by_sample('from_far') / number:.1f}")
            rows.append([f"{number} pipelines", f"`{way}`", *cells])
    head = ["", "", "time, µs", "gain", "gain in A2S", "migrations", "L1 misses", "last level"]
    return markdown.table([*head, "from another node"], rows, left=(0, 1))


def real_words(found: Runs, each: Sequence[Program]) -> str:
    by_verdict: dict[str, list[str]] = {}
    for program in each:
        by_verdict.setdefault(verdict(ratios(found, program.name, AUTO)), []).append(program.name)
    words = [f"{what}: {markdown.joined(names)}" for what, names in sorted(by_verdict.items())]
    return f"With learned affinity: {'; '.join(words)}."


def changes(found: model.Points, plain: str) -> list[float]:
    """Gain in mean time by learned affinity, in each case."""
    return [
        1 - found[case(f"{plain}:affinity=auto", n, kb)].mean / found[case(plain, n, kb)].mean
        for kb in BUFFERS
        for n in NUMBERS
    ]


def far(found: model.Points, way: str) -> float:
    """Lines from another node, by pipeline and sample: the mean of all cases."""
    each = [(found[case(way, n, kb)], n) for kb in BUFFERS for n in NUMBERS]
    return statistics.mean(one.by_sample("from_far") / n for one, n in each)


def moved(found: model.Points, way: str) -> float:
    """Migrations, by pipeline and sample: the mean of all cases."""
    each = [(found[case(way, n, kb)], n) for kb in BUFFERS for n in NUMBERS]
    return statistics.mean(one.by_sample("migrations") / n for one, n in each)


def node_words(found: model.Points) -> str:
    """What it changes that the runtime knows the nodes."""
    lines = []
    for way in FLAT_WAYS:
        flat = f"{way}{model.FLAT}"
        pairs = [
            (found[case(way, n, kb)], found[case(flat, n, kb)]) for kb in BUFFERS for n in NUMBERS
        ]
        times = [on.mean / off.mean - 1 for on, off in pairs]
        lines.append(
            f"- `{way}`: time {signed(min(times))} to {signed(max(times))}, on average "
            f"{signed(statistics.mean(times))}; lines from another node {far(found, flat):.0f} to "
            f"{far(found, way):.0f}, migrations {moved(found, flat):.1f} to "
            f"{moved(found, way):.1f}."
        )
    return "\n".join([NODES, "", *lines])


def model_words(found: model.Points) -> str:
    lines = []
    for plain in ("steal", "dist"):
        auto = f"{plain}:affinity=auto"
        gains = changes(found, plain)
        text = f"- `{auto}` shortens the time of `{plain}` by {signed(min(gains))} to "
        text += f"{signed(max(gains))}, and changes lines from another node from "
        text += f"{far(found, plain):.0f} to {far(found, auto):.0f}."
        if max(gains) < 0 and far(found, auto) < far(found, plain):
            text += f" {GATHERED}"
        lines.append(text)
    return "\n".join(lines)


NODES = """\
The runtime knows which CPUs share a node: a CPU without work looks at its own node first, and a
consumer goes to the node of its producer. With `nodes=off` it takes all CPUs for near ones. What
changes by the knowledge, over all cases (less time is better; lines and migrations by pipeline and
sample, from `nodes=off` to with nodes):"""

GATHERED = """\
It gathers a pipeline's stages on few CPUs, where they find their input, and wait for each other
while other CPUs are idle: that costs more than the misses that it saves. Affinity is not for
pipelines on a machine with CPUs to spare, unless a stage's input is worth more than its CPU."""

HEAD = """\
Programs that work in stages, each of which reads what the one before it has written. No thread
declares anything: `affinity=auto` learns from wake-ups who produces for whom
([how](../guide/affinity.md#learning)). `make pipelines-doc` measures again."""

REAL = """\
## Programs

On the machine at hand, {cpus}. Its load averages were {load} when the runs began. In each of
{rounds} rounds all ways take turns, and ratios are within rounds: the median, and the quartiles.
Below 1 is faster. It is called a difference if both quartiles are on one side of 1. ffmpeg and the
C++ program have Pirn's library preloaded; the others are linked to it.

{list}"""

MODEL = """\
## 64 cores

Workload `pipelines` of the [model](../internals/model.md): `numa64`, 8 nodes of 8 cores, pipelines
of five stages; {seeds}, {samples} samples. Times are those of a sample; a gain is positive where it
is shorter. Counts are by pipeline and sample."""


def page(runs: Runs, each: Sequence[Program], found: model.Points, facts: Mapping[str, str]) -> str:
    rounds = len(runs[each[0].name, PLAIN])
    seeds = len(next(iter(found.values())).seeds)
    listed = "\n".join(f"- {program.name}: {program.what}" for program in each)
    cpus = markdown.counted(len(os.sched_getaffinity(0)), "CPU")
    parts = [
        markdown.begin("Pipelines", "pipelines", "/pipelines.py"),
        HEAD,
        markdown.facts(facts),
        REAL.format(cpus=cpus, load=facts["load averages"], rounds=rounds, list=listed),
        real_table(runs, each),
        real_words(runs, each),
        MODEL.format(seeds=markdown.counted(seeds, "seed"), samples=SAMPLES),
    ]
    for buffer in BUFFERS:
        parts += [f"### Buffers of {buffer} KB", model_table(found, buffer)]
    parts += ["### What it gains", model_words(found)]
    return "\n\n".join([*parts, "### What nodes gain", node_words(found)]) + "\n"


def case(way: str, number: int, buffer: int) -> model.Case:
    return Pipelines("numa64", way, buffer, number, SAMPLES)


def reproduce(root: Path, folder: Path, jobs: int, short: bool, console: Console) -> None:
    build = paths.build_dir(root)
    Programs(build).check()
    each = programs(root, build)
    library = build / "lib" / "libpirn-pthread.so"
    load = machine.load()
    rounds, seeds = (SHORT_ROUNDS, SHORT_SEEDS) if short else (ROUNDS, SEEDS)
    keys = [(program, way) for program in each for way in WAYS]
    found = alternating(keys, rounds, lambda key: run(*key, library))
    runs = {(program.name, way): made for (program, way), made in found.items()}
    runner = model.Runner(Programs(build).model, seeds, root / "build" / "affinity")
    runner.kept.mkdir(parents=True, exist_ok=True)
    cases = [case(way, n, kb) for kb in BUFFERS for n in NUMBERS for way in MODEL_WAYS]
    points = at_once(cases, runner.run, "model", jobs, console)
    folder.mkdir(parents=True, exist_ok=True)
    facts = {
        "command": f"`pirn bench figures pipelines{' --short' if short else ''}`",
        "commit": machine.commit(root),
        "machine at hand": machine.processor(),
        "compiler": machine.compiler(build),
        "ffmpeg": machine.first_line("ffmpeg", "-version"),
        "load averages": load,
    }
    on_chip.write(folder / "pipelines.md", page(runs, each, points, facts), console)
