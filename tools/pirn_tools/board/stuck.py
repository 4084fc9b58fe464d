# SPDX-License-Identifier: MIT
"""Where the cores of a QEMU are whose time is up: the one message of a program that hangs without
saying why, for instance in a handler that never ends.

QEMU is asked by its machine protocol (QMP), on a pair of sockets of which it inherits one: there is
no file, and no port that others could use. It stops the cores first, as the registers of a running
one are not exact.
"""

from __future__ import annotations

import contextlib
import json
import re
import socket
from collections.abc import Iterator

from pirn_tools.board.places import Places

PATIENCE = 30.0  # seconds for each answer, on a busy machine
# As QEMU prints them: RISC-V, ARM, AArch64, MIPS.
COUNTER = re.compile(r"(?:\bpc\s+|\bR15=|\bPC=|\bpc=0x)([0-9a-f]{8,16})")
LINK = re.compile(r"(?:\bx1/ra\s+|\bR14=|\bX30=|\bra )([0-9a-f]{8,16})")


class Monitor:
    """A QEMU's, between its start and its end."""

    def __init__(self, places: Places, bits: int) -> None:
        self.places = places
        self.mask = (1 << bits) - 1
        self._ours, self._theirs = socket.socketpair()
        self._ours.settimeout(PATIENCE)

    @property
    def descriptor(self) -> int:
        """That QEMU inherits."""
        return self._theirs.fileno()

    @property
    def words(self) -> list[str]:
        """For QEMU's command."""
        chardev = f"socket,id=pirn-monitor,fd={self.descriptor}"
        return ["-chardev", chardev, "-mon", "chardev=pirn-monitor,mode=control"]

    def started(self) -> None:
        """QEMU has inherited its end: without ours of it, an end of QEMU is an end of file."""
        self._theirs.close()

    def close(self) -> None:
        self._ours.close()
        self._theirs.close()

    def report(self) -> list[str]:
        """A line for each core, and one for its caller; nothing if QEMU does not answer."""
        try:
            text = self._registers()
        except (OSError, ValueError):
            return []
        return [line for number, core in _cores(text) for line in self._core(number, core)]

    def _core(self, number: str, registers: str) -> Iterator[str]:
        counter, link = COUNTER.search(registers), LINK.search(registers)
        if counter is None:
            return
        at = int(counter[1], 16) & self.mask
        place = self.places.of(at)
        yield f"pirn: core {number} is at {at:#x}" + (f"  {place}" if place else "")
        # In a function that has called others, it is where the last of them has returned to.
        caller = int(link[1], 16) & self.mask if link is not None else 0
        before = self.places.of(caller - 1) if caller else None
        if before and before.partition(",")[0] != (place or "").partition(",")[0]:
            yield f"pirn: from {caller:#x}  {before}"

    def _registers(self) -> str:
        with self._ours.makefile("r") as answers:
            for command, arguments in (
                ("qmp_capabilities", {}),
                ("stop", {}),
                ("human-monitor-command", {"command-line": "info registers -a"}),
            ):
                line = json.dumps({"execute": command, "arguments": arguments}) + "\n"
                self._ours.sendall(line.encode())
                answer = _answer(answers)
        return str(answer)


def _answer(lines: Iterator[str]) -> object:
    """To the last command; events and the greeting come in between."""
    for line in lines:
        message = json.loads(line)
        if "return" in message:
            return message["return"]
        if "error" in message:
            break
    raise ValueError


def _cores(text: str) -> list[tuple[str, str]]:
    """Number and registers of each."""
    parts = re.split(r"^\s*CPU#(\d+)\s*$", text, flags=re.MULTILINE)
    return list(zip(parts[1::2], parts[2::2], strict=True))


@contextlib.contextmanager
def monitored(places: Places, bits: int) -> Iterator[Monitor]:
    monitor = Monitor(places, bits)
    try:
        yield monitor
    finally:
        monitor.close()
