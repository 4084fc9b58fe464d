# SPDX-License-Identifier: MIT
"""Back traces from outside: the callers of a frame, by the unwind tables (.eh_frame), x86-64.

A register that nobody has saved is unknown; where a frame needs it the trace ends.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from elftools.dwarf.callframe import CallFrameInfo, CFARule, RegisterRule
from elftools.dwarf.constants import DW_CFA

from pirn_tools.live.objects import Object, Objects
from pirn_tools.live.process import Process, UnreadableError

RBP, RSP, RIP = 6, 7, 16  # the numbers of registers in DWARF
KEPT = (3, RBP, 12, 13, 14, 15)  # by a function that is called
DEPTH = 64
MASK = (1 << 64) - 1
MOST_BITS = 70  # of a number in an expression, with what pads it
HEADER = struct.Struct("<BBBBiI")  # .eh_frame_hdr
SDATA4, DATAREL_SDATA4, UDATA4, PCREL_SDATA4 = 0x0B, 0x3B, 0x03, 0x1B

Registers = dict[int, int]


class LostError(Exception):
    """What the next frame needs is not known."""


@dataclass(frozen=True)
class Rules:
    """How to find the caller's registers at one place."""

    cfa: CFARule
    saved: dict[int, RegisterRule]
    signal: bool  # the frame of a signal handler's caller


class Tables:
    """The unwind tables of one file."""

    def __init__(self, found: Object) -> None:
        self._bias, self._file = found.bias, found
        self._starts: list[tuple[int, int]] = []  # first address of a function, address of its FDE
        self._cache: dict[int, Rules | None] = {}
        self._at = 0
        self._info: Any = None
        found.allowance.call(found.name, "unwind tables", self._read)

    def _read(self) -> None:
        found, elf = self._file, self._file.elf
        frames = elf.get_section_by_name(".eh_frame")
        header = elf.get_section_by_name(".eh_frame_hdr")
        if frames is None or header is None or found.machine != "EM_X86_64":
            return
        dwarf = elf.get_dwarf_info(relocate_dwarf_sections=False)
        described = dwarf.eh_frame_sec
        if described is None:
            return
        self._at = described.address
        self._info = CallFrameInfo(
            described.stream, described.size, described.address, dwarf.structs, for_eh_frame=True
        )
        self._starts = _search_table(header["sh_addr"], header.data())

    def rules(self, address: int) -> Rules | None:
        """Those for an address in the process."""
        value = address - self._bias
        if value not in self._cache:
            file = self._file
            self._cache[value] = file.allowance.call(
                file.name, "unwind tables", lambda: self._rules(value)
            )
        return self._cache[value]

    def _rules(self, value: int) -> Rules | None:
        low, high = 0, len(self._starts)
        while low < high:  # the last one that begins at or below value
            middle = (low + high) // 2
            low, high = (middle + 1, high) if self._starts[middle][0] <= value else (low, middle)
        if low == 0:
            return None
        entry = self._info._parse_entry_at(self._starts[low - 1][1] - self._at)
        begin = entry["initial_location"]
        if not begin <= value < begin + entry["address_range"]:
            return None
        for part in (entry, entry.cie):  # not known to the decoder, and of no use here
            part.instructions = [i for i in part.instructions if i.opcode != DW_CFA.GNU_args_size]
        line: dict[Any, Any] | None = None
        for candidate in entry.get_decoded().table:
            if candidate["pc"] <= value:
                line = candidate
        if line is None:
            return None
        saved = {reg: rule for reg, rule in line.items() if isinstance(reg, int)}
        return Rules(line["cfa"], saved, bool(entry.cie.augmentation_dict.get(True)))


def _search_table(address: int, raw: bytes) -> list[tuple[int, int]]:
    """The sorted table that linkers write into .eh_frame_hdr."""
    if len(raw) < HEADER.size:
        return []
    version, frame, count_as, table_as, _, count = HEADER.unpack_from(raw)
    if (version, frame, count_as, table_as) != (1, PCREL_SDATA4, UDATA4, DATAREL_SDATA4):
        return []
    count = min(count, (len(raw) - HEADER.size) // 8)
    pairs = struct.unpack_from(f"<{2 * count}i", raw, HEADER.size)
    return [(address + pairs[i], address + pairs[i + 1]) for i in range(0, 2 * count, 2)]


def _leb(code: Iterator[int], signed: bool) -> int:
    value = shift = 0
    for byte in code:
        value |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            return value - (1 << shift) if signed and byte & 0x40 else value
        if shift > MOST_BITS:
            break
    raise LostError


def _constant(code: Iterator[int], operation: int) -> int:
    """DW_OP_const1u to DW_OP_consts."""
    if operation >= 0x10:
        return _leb(code, operation == 0x11)
    size, signed = 1 << (operation - 8) // 2, operation % 2 == 1
    raw = bytes(next(code, 0) for _ in range(size))
    return int.from_bytes(raw, "little", signed=signed)


class Unwinder:
    """Back traces in one process."""

    def __init__(self, process: Process, objects: Objects) -> None:
        self.process, self.objects = process, objects
        self._tables: dict[int, Tables] = {}

    def trace(self, registers: Registers) -> list[int]:
        """Where each frame is, the innermost first. Callers: behind the call."""
        frames: list[int] = []
        exact = True  # the address is that of the next instruction, not behind a call
        while registers.get(RIP) and len(frames) < DEPTH:
            pc = registers[RIP]
            # Addresses behind a call may belong to the next function: told by one less.
            frames.append(pc if exact else pc - 1)
            try:
                registers, exact = self._caller(frames[-1], registers)
            except (LostError, UnreadableError):
                break
        return frames

    def _caller(self, address: int, registers: Registers) -> tuple[Registers, bool]:
        found = self.objects.at(address)
        if found is None:
            raise LostError
        if id(found) not in self._tables:
            self._tables[id(found)] = Tables(found)
        rules = self._tables[id(found)].rules(address)
        if rules is None:
            raise LostError
        cfa = self._cfa(rules.cfa, registers)
        if cfa <= registers[RSP] and not rules.signal:
            raise LostError  # it would never end
        above: Registers = {RSP: cfa}
        for register in (*KEPT, RSP, RIP):
            value = self._saved(register, rules.saved.get(register), registers, cfa)
            if value is not None:
                above[register] = value & MASK
        if rules.saved.get(RIP) is None:
            raise LostError
        return above, rules.signal

    def _known(self, registers: Registers, number: int) -> int:
        if number not in registers:
            raise LostError
        return registers[number]

    def _cfa(self, rule: CFARule, registers: Registers) -> int:
        if rule.expr is not None:
            return self._evaluate(rule.expr, registers, [])
        if rule.reg is None or rule.offset is None:
            raise LostError
        return (self._known(registers, rule.reg) + rule.offset) & MASK

    def _saved(
        self, register: int, rule: RegisterRule | None, registers: Registers, cfa: int
    ) -> int | None:
        if rule is None or rule.type == "SAME_VALUE":
            return registers.get(register) if register in KEPT else None
        if rule.type == "UNDEFINED":
            return None
        if isinstance(rule.arg, int):
            return self._from_number(rule.type, rule.arg, registers, cfa)
        if rule.arg is None:
            raise LostError
        value = self._evaluate(rule.arg, registers, [cfa])
        return self.process.word(value) if rule.type == "EXPRESSION" else value

    def _from_number(self, kind: str, number: int, registers: Registers, cfa: int) -> int | None:
        if kind == "OFFSET":
            return self.process.word(cfa + number & MASK)
        if kind == "VAL_OFFSET":
            return cfa + number
        return registers.get(number)

    def _evaluate(self, expression: Iterable[int], registers: Registers, stack: list[int]) -> int:
        """As much of DWARF's expressions as unwind tables contain."""
        code = iter(expression)
        for operation in code:
            if 0x70 <= operation <= 0x8F:  # a register and an offset
                stack.append(self._known(registers, operation - 0x70) + _leb(code, True))
            elif 0x30 <= operation <= 0x4F:
                stack.append(operation - 0x30)
            elif 0x08 <= operation <= 0x11:
                stack.append(_constant(code, operation))
            elif operation == 0x06:
                stack.append(self.process.word(_pop(stack) & MASK))
            elif operation == 0x23:
                stack.append(_pop(stack) + _leb(code, False))
            else:
                _binary(operation, stack)
        return _pop(stack) & MASK


def _pop(stack: list[int]) -> int:
    if not stack:
        raise LostError
    return stack.pop()


def _binary(operation: int, stack: list[int]) -> None:
    second, first = _pop(stack), _pop(stack)
    if operation == 0x22:
        stack.append(first + second)
    elif operation == 0x1C:
        stack.append(first - second)
    elif operation == 0x1A:
        stack.append(first & second)
    elif operation == 0x24 and second < 64:
        stack.append(first << second & MASK)
    elif operation == 0x2A:
        stack.append(int(first >= second))
    else:
        raise LostError
