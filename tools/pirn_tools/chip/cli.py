# SPDX-License-Identifier: MIT
"""`pirn chip`: programs on the chip of hw/, simulated cycle by cycle."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from pirn_tools import paths
from pirn_tools.chip import build
from pirn_tools.chip.config import (
    CORES,
    INTERVALS,
    MUTANTS,
    SCHEDULER_MUTANTS,
    THREADS,
    Config,
    intervals,
)
from pirn_tools.errors import UserError
from pirn_tools.group import Group

Function = TypeVar("Function", bound=Callable[..., Any])

LATENCY = (4, 2047)


@click.group(cls=Group)
def chip() -> None:
    """Programs on the chip, a multi-core RISC-V processor, simulated cycle by cycle."""


def sizes(function: Function) -> Function:
    """Options that need a simulator of their own."""
    options = [
        click.option("--cores", type=int, metavar="N", help="Cores, 1 to 8; default 1."),
        click.option(
            "--threads", type=int, metavar="N", help="Hardware threads a core, 1 to 4; default 1."
        ),
        click.option(
            "--banks", type=int, default=4, metavar="N", help="Banks of the second level (1 2 4 8)."
        ),
        click.option(
            "--ram", type=int, default=128, metavar="MIB", help="Memory, default 128 MiB."
        ),
        click.option(
            "--scheduler",
            type=int,
            default=0,
            metavar="N",
            help="Hardware scheduler with N contexts in each queue, up to 256; 0: none.",
        ),
        click.option(
            "--scheduler-stages",
            type=int,
            default=1,
            metavar="N",
            help="Cycles in which it chooses a thread, and looks at a line's waiters: 1, 2.",
        ),
        click.option("--mutant", default="", metavar="FAULT", help="Build a known fault in."),
    ]
    for option in reversed(options):
        function = option(function)
    return function


@chip.command("build")
@sizes
@click.option("--waves", type=click.Choice(["fst", "vcd"]), help="It can write such waveforms.")
def build_command(waves: str | None, **chosen: Any) -> None:  # noqa: ANN401
    """Build a simulator, and print its path."""
    config = configuration(f".{waves}" if waves else "", **chosen)
    click.echo(build.simulator(paths.project(), config))


@chip.command("mutants")
def mutants() -> None:
    """List the faults that can be built in, which the tests must find."""
    for name, what in (MUTANTS | SCHEDULER_MUTANTS).items():
        click.echo(f"{name:<22} {what}")


def configuration(wave: str, /, **chosen: Any) -> Config:  # noqa: ANN401
    return Config(
        cores=1 if chosen["cores"] is None else chosen["cores"],
        threads=1 if chosen["threads"] is None else chosen["threads"],
        banks=chosen["banks"],
        ram_mib=chosen["ram"],
        scheduler=chosen["scheduler"],
        scheduler_stages=chosen["scheduler_stages"],
        wave=wave,
        mutant=chosen["mutant"],
    )


@chip.command(context_settings={"allow_interspersed_args": True})
@sizes
@click.option(
    "--latency",
    type=click.IntRange(*LATENCY),
    default=32,
    metavar="N",
    help="Cycles of the second level, default 32.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    default=0,
    metavar="N",
    help="Of arbitration and of --pressure; 0: in turn.",
)
@click.option(
    "--pressure",
    type=click.IntRange(0, 255),
    default=0,
    metavar="N",
    help="Of 256 cycles, those in which no bank takes a request. Needs --seed.",
)
@click.option(
    "--cpus",
    type=int,
    metavar="N",
    help="In place of --cores: hardware threads of all cores, as few a core as make N.",
)
@click.option(
    "--semihosting", is_flag=True, help="Serve the program's calls: files, the command line."
)
@click.option(
    "--slow",
    multiple=True,
    metavar="CORES:N",
    help="These cores issue an instruction only every N-th cycle, "
    f"N up to {INTERVALS[-1]}: 3:2, 2-7:4, 0,4-5:8. Can be repeated.",
)
@click.option("--incoherent", is_flag=True, help="Caches do not see other cores' stores.")
@click.option("--lockstep", is_flag=True, help="Check each instruction with a second simulator.")
@click.option(
    "--randomize", is_flag=True, help="What reset does not set starts at random, by seed."
)
@click.option(
    "--cycles",
    type=click.IntRange(min=1),
    metavar="N",
    help="Stop after so many, with status 124.",
)
@click.option(
    "--counters",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write cycles by hart and cause as JSON.",
)
@click.option("--table", is_flag=True, help="Print them.")
@click.option("--speed", is_flag=True, help="Print how many cycles a second were simulated.")
@click.option(
    "--wave",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write a waveform (.fst, .vcd).",
)
@click.option("--wave-from", type=click.IntRange(min=0), metavar="N", help="Its first cycle.")
@click.option("--wave-to", type=click.IntRange(min=0), metavar="N", help="Its last cycle.")
@click.argument("image", type=click.Path(path_type=Path))
@click.argument("words", nargs=-1)
def run(image: Path, words: tuple[str, ...], **chosen: Any) -> None:  # noqa: ANN401
    """Run the program IMAGE, an ELF file, and exit with its status.

    WORDS (with --semihosting) are the program's command line: variables as NAME=VALUE, its name,
    arguments.
    """
    if chosen["cpus"] is not None:
        if chosen["cores"] is not None:
            raise UserError("--cores: not with --cpus, which chooses it", status=2)
        chosen["cores"], chosen["threads"] = layout(chosen["cpus"], chosen["threads"])
    if words and not chosen["semihosting"]:
        raise UserError(f'"{words[0]}": words reach the program by --semihosting', status=2)
    wave: Path | None = chosen["wave"]
    check(image, chosen)
    config = configuration(wave.suffix if wave else "", **chosen)
    if chosen["slow"]:
        chosen["intervals"] = ",".join(map(str, intervals(chosen["slow"], config.cores)))
    program = build.simulator(paths.project(), config)
    os.execv(program, [str(program), *arguments(chosen), "--", str(image), *words])  # noqa: S606


def layout(cpus: int, chosen: int | None) -> tuple[int, int]:
    """Cores, and hardware threads of each: as many as chosen, or the least that are possible."""
    for threads in THREADS if chosen is None else (chosen,):
        if cpus % threads == 0 and cpus // threads in CORES:
            return cpus // threads, threads
    each = "1 to 4 each" if chosen is None else f"{chosen} each"
    raise UserError(
        f"--cpus: no chip has {cpus} hardware threads (valid: 1 to 8 cores with {each})",
        status=2,
    )


def check(image: Path, chosen: dict[str, Any]) -> None:
    """Before a simulator is built, which takes a minute."""
    if not image.exists():
        raise UserError(f"{image}: no such file", status=2)
    if chosen["pressure"] and not chosen["seed"]:
        raise UserError("--pressure needs --seed: without it nothing is random", status=2)
    if chosen["wave"] is not None and not chosen["wave"].suffix:
        raise UserError(f"--wave: {chosen['wave']} must end in .fst or .vcd", status=2)
    if chosen["wave"] is None and (
        chosen["wave_from"] is not None or chosen["wave_to"] is not None
    ):
        raise UserError("--wave-from and --wave-to need --wave FILE", status=2)
    first, last = chosen["wave_from"], chosen["wave_to"]
    if first is not None and last is not None and first > last:
        raise UserError(f"--wave-from: {first} is after --wave-to {last}", status=2)


FLAGS = ("semihosting", "incoherent", "lockstep", "randomize", "table", "speed")
VALUES = (
    "latency",
    "seed",
    "pressure",
    "intervals",
    "cycles",
    "counters",
    "wave",
    "wave_from",
    "wave_to",
)


def arguments(chosen: dict[str, Any]) -> list[str]:
    """Those of the simulator."""
    words = [f"--{name}" for name in FLAGS if chosen[name]]
    for name in VALUES:
        if chosen.get(name) is not None:
            words += [f"--{name.replace('_', '-')}", str(chosen[name])]
    return words
