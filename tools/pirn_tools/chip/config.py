# SPDX-License-Identifier: MIT
"""Configurations of the chip: what its RTL can be built for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pirn_tools.errors import UserError, listing

CORES = range(1, 9)
THREADS = range(1, 5)
BANKS = (1, 2, 4, 8)
SCHEDULER = range(257)
SCHEDULER_STAGES = (1, 2)
INTERVALS = range(1, 17)  # cycles from an instruction of a core to its next one
RAM_MIB = (1, 2, 4, 8, 16, 32, 64, 128, 256)
WAVES = (".fst", ".vcd")
# Faults that can be built in, to see that the tests find them: SOC_MUTANT_... in hw/rtl.
MUTANTS = {
    "no-drop": "a cache keeps lines that other cores change",
    "no-forwarding": "loads do not look into the store buffer",
    "partial-forwarding": "a load takes all bytes from a store that has only some of them",
    "no-bypass": "an instruction does not get the result of the one before it",
    "reservation-stays": "a store does not end other harts' reservations",
    "fence-passes": "a fence does not wait for stores",
    "flush-nothing": "fence.i keeps the instruction cache",
    "answer-to-one": "only the core that has stored hears of it",
    "atomic-passes": "an atomic operation does not wait for stores",
    "interrupt-with-answer": "an interrupt is taken between an answer and its use",
    "wrong-divide": "the remainder has the sign of the divisor",
    "no-hazard": "an instruction does not wait for a load before it",
    "drop-early": "a store leaves the buffer before the cache has it",
}
# The same in the hardware scheduler.
SCHEDULER_MUTANTS = {
    "recruits-stays": "a recruiting thread that blocks prevents others for ever",
    "woken-stays": "a woken thread that traps gets lines that are kept for others",
    "spawn-traps": "a spawn that has filled the RTU_LIFO traps",
    "link-stays": "a thread ends the load-reserved of the thread before it",
    "line-not-kept": "a line is not kept for the thread that is woken",
}


@dataclass(frozen=True)
class Config:
    """Properties that a simulator is built with. The others are options of a run."""

    cores: int = 1
    threads: int = 1
    banks: int = 4
    ram_mib: int = 128
    scheduler: int = 0  # contexts in each queue of the hardware scheduler; 0: the chip has none
    scheduler_stages: int = 1  # cycles of a choice of its TSAU, and of an access of its DTU
    wave: str = ""  # suffix of the waveforms that it can write
    mutant: str = ""

    def __post_init__(self) -> None:
        need("--cores", self.cores, CORES)
        need("--threads", self.threads, THREADS)
        need("--banks", self.banks, BANKS)
        need("--ram", self.ram_mib, RAM_MIB)
        need("--scheduler", self.scheduler, SCHEDULER)
        need("--scheduler-stages", self.scheduler_stages, SCHEDULER_STAGES)
        if self.scheduler_stages != Config.scheduler_stages and self.scheduler == 0:
            raise UserError(
                f"--scheduler-stages {self.scheduler_stages}: needs --scheduler N, at least 1",
                status=2,
            )
        if self.wave and self.wave not in WAVES:
            raise UserError(
                f'--wave: no waveform ends in "{self.wave}" (valid: {listing(WAVES)})', status=2
            )
        valid = MUTANTS | SCHEDULER_MUTANTS
        if self.mutant and self.mutant not in valid:
            raise UserError(
                f'--mutant: no fault "{self.mutant}" (valid: {listing(sorted(valid))})', status=2
            )
        if self.mutant in SCHEDULER_MUTANTS and self.scheduler == 0:
            raise UserError(f"--mutant {self.mutant}: needs --scheduler N, at least 1", status=2)

    @property
    def name(self) -> str:
        """Says all that differs from the default."""
        parts = [f"{self.cores}x{self.threads}"]
        if self.banks != Config.banks:
            parts.append(f"banks{self.banks}")
        if self.ram_mib != Config.ram_mib:
            parts.append(f"ram{self.ram_mib}")
        if self.scheduler != Config.scheduler:
            parts.append(f"scheduler{self.scheduler}")
        if self.scheduler_stages != Config.scheduler_stages:
            parts.append(f"stages{self.scheduler_stages}")
        return "-".join([*parts, *filter(None, [self.wave.lstrip("."), self.mutant])])

    @property
    def macros(self) -> list[str]:
        """For the RTL and for the harness."""
        macros = [
            f"SOC_CORES={self.cores}",
            f"SOC_THREADS={self.threads}",
            f"SOC_BANKS={self.banks}",
            f"SOC_RAM_KIB={self.ram_mib * 1024}",
            f"SOC_SCHEDULER={self.scheduler}",
            f"SOC_SCHEDULER_STAGES={self.scheduler_stages}",
        ]
        if self.mutant:
            macros.append(f"SOC_MUTANT_{self.mutant.upper().replace('-', '_')}")
        return macros


def intervals(slow: Sequence[str], cores: int) -> tuple[int, ...]:
    """Of each core, the cycles from an instruction to the next. slow: of --slow, "CORES:N"."""
    found: dict[int, int] = {}
    for text in slow:
        named, colon, count = text.rpartition(":")
        if not colon or not re.fullmatch(r"\d+(-\d+)?(,\d+(-\d+)?)*", named):
            raise UserError(
                f'--slow: "{text}" is not CORES:N (valid: 3:2, 2-7:4, 0,4-5:8)', status=2
            )
        if not re.fullmatch(r"\d{1,3}", count) or int(count) not in INTERVALS:
            valid = f"{INTERVALS[0]} to {INTERVALS[-1]}"
            raise UserError(
                f'--slow {text}: no core issues every "{count}" cycles (valid: {valid})', status=2
            )
        for core in named_cores(text, named, cores):
            if core in found:
                raise UserError(f"--slow {text}: core {core} is named twice", status=2)
            found[core] = int(count)
    return tuple(found.get(core, 1) for core in range(cores))


def named_cores(text: str, named: str, cores: int) -> list[int]:
    """Of "0,4-5"."""
    found: list[int] = []
    for part in named.split(","):
        first, _, last = part.partition("-")
        if int(last or first) < int(first):
            raise UserError(f"--slow {text}: {part} ends before it begins", status=2)
        if int(last or first) >= cores:
            raise UserError(
                f"--slow {text}: the chip has no core {last or first} (valid: 0 to {cores - 1})",
                status=2,
            )
        found += range(int(first), int(last or first) + 1)
    return found


def need(option: str, value: int, valid: range | tuple[int, ...]) -> None:
    if value in valid:
        return
    if isinstance(valid, range):
        words = f"{valid[0]} to {valid[-1]}"
    else:
        words = listing([str(one) for one in valid])
    raise UserError(f"{option}: the chip cannot have {value} (valid: {words})", status=2)
