# SPDX-License-Identifier: MIT
"""Tests of the chip: programs under lockstep, litmus tests, and faults that the tests must find.

    run.py [--full] [--jobs N] [--only EXPRESSION] [--verbose] GROUP...

Groups: programs, random, litmus, scheduler, workloads, mutants. Without --full each takes at most
a minute, without the builds of the simulators. Such a build takes as long as all runs on it, so
without --full there are few configurations.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import functools
import itertools
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
LIBRARY = HERE.parent / "lib"
sys.path[:0] = [str(ROOT / "tools"), str(HERE)]

import example  # noqa: E402
import isa  # noqa: E402
import litmus  # noqa: E402
import random_program  # noqa: E402
from pirn_tools.chip import bare, build  # noqa: E402
from pirn_tools.chip.config import MUTANTS, SCHEDULER_MUTANTS, Config  # noqa: E402
from pirn_tools.errors import UserError  # noqa: E402
from pirn_tools.figures import waves  # noqa: E402

COMPILER = "riscv64-unknown-elf-gcc"
FLAGS = ["-march=rv32ima_zicsr_zifencei", "-mabi=ilp32", "-nostdlib", "-nostartfiles", "-static"]
IMAGES = ROOT / "build" / "hw" / "tests"
PROGRAMS = ("isa", "memory", "atomics", "traps", "interrupts", "code", "devices", "stress")
FEW_SIZES = ((1, 1), (2, 2))
SIZES = (*FEW_SIZES, (1, 4))
CYCLES = 8_000_000
MUTANT_SEEDS = range(1, 9)
ALIAS = 0x40000000  # as in test.inc: from cached memory to the same memory, not cached
SECONDS = 550  # only for a simulator that hangs itself


@dataclass(frozen=True)
class Case:
    """A run that must succeed."""

    name: str
    image: Path
    config: Config
    options: tuple[str, ...] = ()
    stdin: str = ""
    words: tuple[str, ...] = ()  # its command line
    status: int = 0  # with which it must end
    cycles: int = CYCLES
    check: Callable[[str], str] | None = field(default=None, compare=False)  # of its output

    @property
    def title(self) -> str:
        return " ".join([self.name, self.config.name, *self.options, *self.words])


@functools.cache
def simulator(config: Config) -> Path:
    """The same one for the whole run, even if sources change meanwhile."""
    return build.simulator(ROOT, config)


def run_case(case: Case) -> str:
    """The text of the failure; empty: none."""
    words = [str(simulator(case.config)), "--cycles", str(case.cycles), *case.options]
    words += ["--semihosting"] if case.words else []
    result = subprocess.run(
        [*words, "--", str(case.image), *case.words],
        input=case.stdin,
        capture_output=True,
        text=True,
        timeout=SECONDS * max(1, case.cycles // CYCLES),
        check=False,
    )
    if result.returncode != case.status:
        return f"status {result.returncode}\n{result.stderr}{result.stdout[-2000:]}"
    return case.check(result.stdout) if case.check else ""


def assemble(name: str, text: str | None = None, **symbols: int) -> Path:
    """The image of a program of this folder, or of a text. Symbols replace the program's own."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    source = HERE / f"{name}.S"
    name = "-".join([name, *(f"{symbol.lower()}{value}" for symbol, value in symbols.items())])
    own = f"{name}.{os.getpid()}"
    if text is not None:
        source = IMAGES / f"{own}.S"
        source.write_text(text)
    image = IMAGES / f"{name}.elf"
    parts = IMAGES / f"{own}.elf"
    words = [
        COMPILER,
        *FLAGS,
        f"-Wa,-I{HERE},-I{LIBRARY}",
        f"-T{LIBRARY / 'link.ld'}",
        "-o",
        str(parts),
    ]
    words += [f"-Wa,--defsym,{symbol}={value}" for symbol, value in symbols.items()]
    result = subprocess.run(
        [*words, str(source)], capture_output=True, text=True, check=False, cwd=HERE
    )
    if result.returncode != 0:
        raise UserError(f"{source}: not assembled\n{result.stderr}")
    parts.rename(image)
    if text is not None:
        source.rename(IMAGES / f"{name}.S")
    return image


def memories(full: bool) -> list[tuple[str, ...]]:
    """Latencies, seeds, pressures."""
    few = [("4", "0", "0"), ("32", "1", "60"), ("200", "2", "0"), ("4", "3", "200")]
    every = itertools.product(("4", "32", "200"), ("1", "2", "3"), ("0", "60", "200"))
    chosen = list(every) + few if full else few
    return [
        ("--latency", latency, "--seed", seed, *(("--pressure", p) if seed != "0" else ()))
        for latency, seed, p in chosen
    ]


def program_image(name: str) -> Path:
    return assemble(name, isa.program() if name == "isa" else None)


def programs(full: bool) -> Iterator[Case]:
    images = {name: program_image(name) for name in PROGRAMS}
    images |= {name: assemble(name) for name in ("echo", "readc")}
    sizes = (*SIZES, (4, 1), (2, 4), (8, 1)) if full else FEW_SIZES
    for cores, threads in sizes:
        config = Config(cores=cores, threads=threads)
        for options, name in itertools.product(memories(full), PROGRAMS):
            yield Case(name, images[name], config, ("--lockstep", *options))
        for seed in ("5", "6"):
            options = ("--lockstep", "--randomize", "--seed", seed)
            yield Case("memory", images["memory"], config, options)
        yield Case(
            "echo",
            images["echo"],
            config,
            ("--lockstep",),
            "pirn on a chip\n",
            check=lambda out: "" if out == "PIRN ON A CHIP\n" else f"printed {out!r}",
        )
        yield Case(
            "readc",
            images["readc"],
            config,
            ("--lockstep",),
            "pirn on a chip\n",
            words=("readc",),
            check=lambda out: "" if out == "pirn on a chip\n" else f"printed {out!r}",
        )
    yield from slow_cores(full)
    for banks, name in itertools.product((1,) if full else (), ("memory", "stress", "atomics")):
        one = Config(cores=2, threads=2, banks=banks)
        yield Case(name, images[name], one, ("--lockstep", "--seed", "9", "--pressure", "100"))
    # Without coherence, harts that share no lines see no difference.
    for name in ("isa", "memory", "traps"):
        for cores, threads in sizes:
            config = Config(cores=cores, threads=threads)
            yield Case(name, images[name], config, ("--lockstep", "--incoherent"))
    # Nor do those that share memory which is not cached; in cached memory they wait without end.
    for name in ("atomics", "code", "stress"):
        image = assemble(name, AT=ALIAS)
        for options, (cores, threads) in itertools.product(memories(full), sizes):
            config = Config(cores=cores, threads=threads)
            yield Case(f"{name}-alias", image, config, ("--lockstep", "--incoherent", *options))
    two = Config(cores=2, threads=2)
    options = ("--lockstep", "--incoherent")
    yield Case("atomics", images["atomics"], two, options, status=124, cycles=100_000)


def slow_cores(full: bool) -> Iterator[Case]:
    """Cores that issue an instruction every so many cycles; programs that do not notice."""
    chips = [((1, 1), (16,)), ((2, 2), (1, 4)), ((2, 2), (2, 1))]
    more = [((1, 4), (3,)), ((4, 1), (1, 1, 2, 5)), ((8, 1), (1, 1, 4, 4, 4, 4, 16, 2))]
    chips += more if full else []
    for (cores, threads), intervals in chips:
        config = Config(cores=cores, threads=threads)
        pauses = sum((interval - 1) << 4 * core for core, interval in enumerate(intervals))
        slow = ("--intervals", ",".join(map(str, intervals)))
        for options in memories(full):
            image = assemble("slow", PAUSES=pauses)
            yield Case("slow", image, config, ("--lockstep", *slow, *options))
        for name in ("interrupts", "atomics", "stress"):
            yield Case(name, program_image(name), config, ("--lockstep", *slow))


def random_programs(full: bool) -> Iterator[Case]:
    for seed in range(1, 101 if full else 13):
        image = assemble(f"random-{seed}", random_program.program(seed))
        rand = random.Random(seed)
        for cores, threads in SIZES if full else FEW_SIZES:
            options: tuple[str, ...] = ("--latency", rand.choice(["4", "5", "9", "32", "90"]))
            options += ("--seed", str(seed), "--pressure", rand.choice(["0", "60", "200"]))
            config = Config(cores=cores, threads=threads)
            if seed % 4 == 0:
                options += ("--incoherent",)
            yield Case(f"random-{seed}", image, config, ("--lockstep", *options))


def litmus_case(test: litmus.Litmus, places: list[int], rounds: int, seed: int) -> Case:
    distance = random.Random(seed).choice([16, 64, 2048, 20])
    text = litmus.program(test, places, rounds, seed, distance)
    word = "".join(map(str, places))
    image = assemble(f"litmus-{test.name}-{word}-{seed}", text)

    def check(output: str) -> str:
        counted = litmus.read(output)
        total = sum(counted.values())
        if total != rounds:
            return f"{test.name}: {total} outcomes of {rounds} rounds"
        for wanted in test.wanted:
            if rounds >= 100 and litmus.digits(test, wanted) not in counted:
                return f"{test.name}: {wanted} never came; are stores buffered?"
        return litmus.verdict(test, counted)

    latency, pressure = ("4", "32", "12")[seed % 3], ("0", "80")[seed % 2]
    options = ("--latency", latency, "--seed", str(seed), "--pressure", pressure, "--lockstep")
    cores, threads = (2, 2) if max(places) < 4 else (4, 1)
    return Case(f"litmus-{test.name}-{word}", image, Config(cores, threads), options, check=check)


def litmus_tests(full: bool) -> Iterator[Case]:
    for test in litmus.TESTS:
        count = len(test.harts)
        # harts 0 and 1 are of one core, 2 and 3 of the other
        orders = [list(order) for order in itertools.permutations(range(4), count)]
        rand = random.Random(test.name)
        chosen = orders if full else [list(range(count)), *rand.sample(orders, 2)]
        if not full and count == 2:
            chosen[1] = [0, 2]
        for seed, places in enumerate(chosen, start=1):
            yield litmus_case(test, places, 1000 if full else 150, seed)


PRESSURES = ("0", "60", "200")  # of 256 cycles, those in which no bank takes a request


def scheduler_memory(seed: int) -> tuple[str, ...]:
    """Latency and back-pressure at random."""
    rand = random.Random(seed)
    options = ("--lockstep", "--latency", rand.choice(["4", "9", "32", "90"]), "--seed", str(seed))
    return (*options, "--pressure", rand.choice(PRESSURES))


def spawned(output: str) -> dict[str, int]:
    """What spawn.S counts."""
    names = ("rtu_overflows", "dtb_overflows", "recruited", "blocked")
    return dict(zip(names, (int(word, 16) for word in output.split()), strict=True))


QUEUES = (4, 16, 64)
TWO_STAGES = Config(cores=2, threads=2, scheduler=4, scheduler_stages=2)
THREADS = 1000  # that spawn.S spawns


def spawn_case(config: Config, units: int, cond: int, seed: int) -> Case:
    image = assemble("spawn", COUNT=THREADS, UNITS=units, COND=cond)
    harts = config.cores * config.threads

    def check(output: str) -> str:
        found = spawned(output)
        if units == 50 and harts <= 8 and found["rtu_overflows"] == 0:
            return f"the RTU_LIFO was never full: {found}"
        small = harts == 4 and config.scheduler == QUEUES[0]
        if units == 50 and cond and small and found["dtb_overflows"] == 0:
            return f"the DTB was never full: {found}"
        if found["rtu_overflows"] + found["dtb_overflows"] != 0 and found["recruited"] == 0:
            return f"there was no recruiting thread: {found}"
        if cond and harts > 1 and found["blocked"] == 0:
            return f"no thread was blocked: {found}"
        if not cond and found["blocked"] != 0:
            return f"threads were blocked: {found}"
        return ""

    title = f"spawn-{units}{'-cond' if cond else ''}"
    return Case(title, image, config, scheduler_memory(seed), check=check)


def pairs_case(config: Config, pairs: int, words: int, rounds: int, seed: int) -> Case:
    image = assemble("pairs", PAIRS=pairs, WORDS=words, ROUNDS=rounds, READERS=6, SEED=seed)
    return Case(f"pairs-{pairs}-{words}", image, config, scheduler_memory(seed))


def waves_case() -> Case:
    """The signals of the scenes that `pirn bench figures waves` draws, in their order."""
    dump = IMAGES / f"waves.{os.getpid()}.vcd"

    def check(_: str) -> str:
        try:
            waves.scenes(dump)
        except UserError as error:
            return str(error)
        finally:
            dump.unlink(missing_ok=True)
        return ""

    options = ("--lockstep", "--latency", str(waves.LATENCY), "--wave", str(dump))
    return Case("waves", assemble("waves"), waves.CONFIG, options, check=check)


@functools.cache
def example_built() -> tuple[Path, str]:
    return example.built(ROOT, IMAGES)


def example_case(config: Config, options: tuple[str, ...]) -> Case:
    """The program in C of docs/internals/chip.md."""
    image, expected = example_built()

    def check(output: str) -> str:
        return "" if output == expected else f"printed {output!r}, the page has {expected!r}"

    return Case(example.NAME, image, config, ("--lockstep", *options), check=check)


def scheduler_tests(full: bool) -> Iterator[Case]:
    if full:
        yield waves_case()  # a simulator of its own
    sizes = ((1, 1), (2, 2), (4, 1), (2, 4), (8, 1), (8, 4)) if full else ((1, 1), (2, 2))
    for queue, (cores, threads) in itertools.product((0, *QUEUES), sizes):
        if not full and (queue, cores) not in ((0, 1), (4, 2)):
            continue
        one = Config(cores=cores, threads=threads, scheduler=queue)
        configs = [one]
        if queue != 0 and full:
            configs.append(replace(one, scheduler_stages=2))
        for config in configs:
            for options in memories(full):
                yield from scheduler_programs(config, options)
            if queue != 0:
                yield from scheduler_loads(config, full)


def scheduler_programs(config: Config, options: tuple[str, ...]) -> Iterator[Case]:
    yield Case("scheduler", assemble("scheduler"), config, ("--lockstep", *options))
    if config.scheduler != 0 and config.threads > 1:
        yield Case("recruit", assemble("recruit"), config, ("--lockstep", *options))
    if config.scheduler != 0:
        yield Case("words", assemble("words"), config, ("--lockstep", *options))
        yield example_case(config, options)


def scheduler_loads(config: Config, full: bool) -> Iterator[Case]:
    harts = config.cores * config.threads
    for (units, cond), seed in zip(itertools.product((1, 10, 50), (0, 1)), itertools.count(1)):
        yield spawn_case(config, units, cond, seed)
    for seed in range(1, 41 if full else 9):
        words = (8, 1, 16, 4)[seed % 4]
        yield pairs_case(config, 48 if full and harts > 1 else 16, words, 20 if full else 6, seed)
    # without the scheduler's instructions nothing is different
    if config.scheduler == QUEUES[0] and config.scheduler_stages == 1:
        for name in ("isa", "memory", "stress", "interrupts"):
            yield Case(name, program_image(name), config, scheduler_memory(7))


WORKLOADS = Config(cores=2, threads=2, scheduler=16)
FEW = 200  # threads
IN_ROUND = 1000  # threads of a round
MILLION_CYCLES = 20 * CYCLES
# A million threads for each size of the queues, on three chips: scheduler, workload, units, rounds.
# Only threads of many units, and those of b and d, which wait for each other, fill 64 entries.
MILLION_CHIPS = ((2, 2, 1), (2, 4, 1), (2, 4, 2))
MILLION_RUNS = (
    *(("hard", "a", 1, 206), ("hard", "a", 50, 40), ("hard-tree", "a", 10, 60)),
    *(("hard", "b", 1, 14), ("hard-tree", "d", 10, 14)),
)


@functools.cache
def workload_image() -> Path:
    return bare.image(ROOT)


def workload(
    config: Config, seed: int, /, status: int = 0, cycles: int = CYCLES, **words: str
) -> Case:
    """The program of bench/chip, which checks that every thread runs once."""
    line = tuple(f"{name}={value}" for name, value in words.items())
    return Case(
        "threads",
        workload_image(),
        config,
        scheduler_memory(seed),
        words=("threads", *line),
        status=status,
        cycles=cycles,
    )


def workloads(full: bool) -> Iterator[Case]:
    queues = WORKLOADS if full else replace(WORKLOADS, scheduler=QUEUES[0])
    few = str(FEW)
    for seed, scheduler in enumerate(bare.SCHEDULERS, start=1):
        yield workload(queues, seed, scheduler=scheduler, threads=few, seed=str(seed))
        if full:
            yield workload(queues, seed + 20, scheduler=scheduler, threads="1000", units="10")
    for seed, name in enumerate("bcde", start=40):
        yield workload(queues, seed, workload=name, threads=few, units="20", rounds="2")
    yield workload(Config(cores=2, threads=2), 50, scheduler="mts", threads=few)
    # what it cannot do, it says
    yield workload(Config(cores=2, threads=2), 51, status=2, scheduler="hard")
    yield workload(queues, 52, status=2, threads="0")
    yield workload(queues, 52, status=2, units="x")
    yield workload(queues, 52, status=2, scheduler="none")
    yield workload(queues, 52, status=2, workload="f")
    yield workload(queues, 53, status=2, scheduler="mts", workload="b")
    if full:
        yield from two_stages(few)
        yield from million()


def two_stages(few: str) -> Iterator[Case]:
    """With a scheduler that needs two cycles for a choice and for an access."""
    for seed, scheduler in enumerate(("hard", "hard-tree", "take"), start=60):
        yield workload(TWO_STAGES, seed, scheduler=scheduler, threads=few)
    for seed, name in enumerate("bcde", start=70):
        yield workload(TWO_STAGES, seed, workload=name, threads=few, units="20", rounds="2")


def million() -> Iterator[Case]:
    """Banks refuse requests at random. Both overflow traps and the recruiting thread are needed."""
    assert len(MILLION_CHIPS) * sum(run[-1] for run in MILLION_RUNS) * IN_ROUND >= 1_000_000
    for queue in QUEUES:
        runs = itertools.product(MILLION_CHIPS, MILLION_RUNS)
        for seed, (chip, (scheduler, name, units, rounds)) in enumerate(runs, start=queue):
            config = Config(*chip[:2], scheduler=queue, scheduler_stages=chip[2])
            case = workload(
                config,
                seed,
                cycles=MILLION_CYCLES,
                scheduler=scheduler,
                workload=name,
                threads=str(IN_ROUND),
                units=str(units),
                rounds=str(rounds),
            )
            needed = ["rtu_overflows", "recruits"] if units == 50 or name != "a" else []
            needed += ["dtb_overflows", "blocked"] if name != "a" else []
            options = ("--lockstep", "--seed", str(seed), "--latency", ("32", "90")[seed % 2])
            yield replace(
                case,
                name="million",
                options=(*options, "--pressure", ("60", "200")[seed // 2 % 2]),
                check=functools.partial(counted, needed),
            )


def counted(names: list[str], output: str) -> str:
    """Fails if one of the counters that bench/chip prints is 0."""
    found = dict(line.split(maxsplit=1) for line in output.splitlines())
    none = [name for name in names if found[name] == "0"]
    return f"did not happen: {', '.join(none)}" if none else ""


def mutant_found(name: str, images: dict[str, Path]) -> str:
    """Which test has found a fault, and how, or nothing."""
    config = Config(cores=2, threads=2, mutant=name)
    cases = [
        Case(one, images[one], config, options)
        for options in (
            ("--lockstep", "--latency", "32"),
            ("--lockstep", "--latency", "4", "--seed", "7", "--pressure", "60"),
        )
        for one in PROGRAMS
    ]
    for seed in MUTANT_SEEDS:
        one = f"random-{seed}"
        cases.append(Case(one, images[one], config, ("--lockstep", "--seed", str(seed))))
    for case in cases:
        wrong = run_case(case)
        if wrong:
            return f"{case.title}: {' '.join(wrong.splitlines()[:2])}"
    return ""


def scheduler_mutant_found(name: str) -> str:
    config = Config(cores=2, threads=2, scheduler=QUEUES[0], mutant=name)
    for case in itertools.chain(
        *(scheduler_programs(config, options) for options in memories(full=False)),
        scheduler_loads(config, full=False),
    ):
        wrong = run_case(case)
        if wrong:
            return f"{case.title}: {' '.join(wrong.splitlines()[:2])}"
    return ""


def any_mutant_found(name: str, images: dict[str, Path]) -> str:
    return scheduler_mutant_found(name) if name in SCHEDULER_MUTANTS else mutant_found(name, images)


def run_mutants(jobs: int, only: str) -> int:
    missed = 0
    names = [name for name in (MUTANTS | SCHEDULER_MUTANTS) if re.search(only, name)]
    images = {name: program_image(name) for name in PROGRAMS}
    for seed in MUTANT_SEEDS:
        images[f"random-{seed}"] = assemble(f"random-{seed}", random_program.program(seed))
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for name, found in zip(
            names, pool.map(lambda name: any_mutant_found(name, images), names), strict=True
        ):
            print(f"{name}: {f'found by {found}' if found else 'NOT FOUND'}", flush=True)
            missed += not found
    return missed


def run_cases(cases: list[Case], jobs: int, verbose: bool) -> int:
    # one build after the other: each uses all processors
    for config in {case.config for case in cases}:
        simulator(config)
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for case, wrong in zip(cases, pool.map(run_case, cases), strict=True):
            if wrong:
                failed += 1
                print(f"FAILED {case.title}\n{wrong}", flush=True)
            elif verbose:
                print(f"passed {case.title}", flush=True)
    print(f"{len(cases)} runs, {failed} failed")
    return failed


GROUPS = {
    "programs": programs,
    "random": random_programs,
    "litmus": litmus_tests,
    "scheduler": scheduler_tests,
    "workloads": workloads,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("groups", nargs="+", choices=[*GROUPS, "mutants"])
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="", help="a regular expression for the names of runs")
    parser.add_argument("--verbose", action="store_true", help="name the runs that have passed")
    options = parser.parse_args()
    failed = 0
    try:
        if shutil.which(COMPILER) is None:
            raise UserError(f"{COMPILER} is missing; tools/setup --group chip installs it")
        for group in options.groups:
            if group == "mutants":
                failed += run_mutants(options.jobs, options.only)
                continue
            cases = list(GROUPS[group](options.full))
            failed += run_cases(
                [case for case in cases if re.search(options.only, case.title)],
                options.jobs,
                options.verbose,
            )
    except UserError as error:
        print(f"Error: {error.message}", file=sys.stderr)
        return 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
