# SPDX-License-Identifier: MIT
"""The guest: QEMU without hardware support, so that it runs everywhere; no network.

Its clock is that of its own instructions (-icount): how busy this computer is changes nothing in
the guest. The first serial port is the kernel's console, the second one has the results.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pirn_tools.guest import qemu
from pirn_tools.guest.qemu import Times

KERNEL_OPTIONS = "console=ttyS0 quiet panic=-1 nokaslr mitigations=off no_timer_check nowatchdog"
MEMORY = 1024  # MiB
CLOCKS = {
    "virtual": ["-accel", "tcg,thread=single", "-icount", "shift=1,sleep=off"],
    "host": ["-accel", "tcg,thread=multi"],
}


@dataclass(frozen=True)
class Guest:
    kernel: Path
    image: Path
    folder: Path  # for the output
    cpus: int = 4
    clock: str = "virtual"
    nodes: int = 1  # NUMA nodes, each with as many of the CPUs and of the memory

    @property
    def console(self) -> Path:
        return self.folder / "console.txt"

    @property
    def output(self) -> Path:
        return self.folder / "output.txt"

    def memory(self) -> list[str]:
        options = ["-m", str(MEMORY)]
        if self.nodes == 1:
            return options
        each = self.cpus // self.nodes
        for i in range(self.nodes):
            cpus = f"{i * each}-{(i + 1) * each - 1}"
            size = MEMORY // self.nodes
            options += ["-object", f"memory-backend-ram,id=node{i},size={size}M"]
            options += ["-numa", f"node,nodeid={i},cpus={cpus},memdev=node{i}"]
        return options

    def command(self) -> list[str]:
        return [
            "qemu-system-x86_64",
            *CLOCKS[self.clock],
            *("-cpu", "max", "-smp", str(self.cpus), *self.memory()),
            *("-kernel", str(self.kernel), "-initrd", str(self.image), "-append", KERNEL_OPTIONS),
            *("-display", "none", "-monitor", "none", "-nic", "none", "-no-reboot"),
            *("-serial", f"file:{self.console}", "-serial", f"file:{self.output}"),
        ]

    def run(self, limit: float) -> Times:
        """Until the guest turns itself off. GuestError: it did not."""
        self.output.unlink(missing_ok=True)

        def booted() -> bool:
            return self.output.exists() and self.output.stat().st_size > 0

        return qemu.run(self.command(), self.console, limit, qemu.Look(booted))
