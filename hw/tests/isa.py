# SPDX-License-Identifier: MIT
"""Writes isa.S: each instruction that computes, branches or jumps, with corner values.

What must come out is computed here, in Python, a third time beside the RTL and the simulator.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

MASK = 0xFFFFFFFF
CORNERS = (0, 1, 2, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFF, 0x55555555, 0xCAFEF00D, 31, 32)
IMMEDIATES = (0, 1, -1, 2047, -2048, 0x555)


def signed(value: int) -> int:
    return value - (1 << 32) if value >> 31 else value


def quotient(a: int, b: int) -> int:
    """Rounds towards zero."""
    return -1 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def remainder(a: int, b: int) -> int:
    return a if b == 0 else a - quotient(a, b) * b


OPS: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "sll": lambda a, b: a << (b & 31),
    "slt": lambda a, b: int(signed(a) < signed(b)),
    "sltu": lambda a, b: int(a < b),
    "xor": lambda a, b: a ^ b,
    "srl": lambda a, b: a >> (b & 31),
    "sra": lambda a, b: signed(a) >> (b & 31),
    "or": lambda a, b: a | b,
    "and": lambda a, b: a & b,
    "mul": lambda a, b: a * b,
    "mulh": lambda a, b: signed(a) * signed(b) >> 32,
    "mulhsu": lambda a, b: signed(a) * b >> 32,
    "mulhu": lambda a, b: a * b >> 32,
    "div": lambda a, b: quotient(signed(a), signed(b)),
    "divu": lambda a, b: quotient(a, b),
    "rem": lambda a, b: remainder(signed(a), signed(b)),
    "remu": lambda a, b: remainder(a, b),
}
IMMEDIATE_OPS = {"addi": "add", "slti": "slt", "sltiu": "sltu", "xori": "xor", "ori": "or"}
IMMEDIATE_OPS |= {"andi": "and"}
SHIFTS = {"slli": "sll", "srli": "srl", "srai": "sra"}
BRANCHES: dict[str, Callable[[int, int], bool]] = {
    "beq": lambda a, b: a == b,
    "bne": lambda a, b: a != b,
    "blt": lambda a, b: signed(a) < signed(b),
    "bge": lambda a, b: signed(a) >= signed(b),
    "bltu": lambda a, b: a < b,
    "bgeu": lambda a, b: a >= b,
}


def operations() -> Iterator[str]:
    for name, compute in OPS.items():
        for a, b in itertools.product(CORNERS, repeat=2):
            yield f"computes {name}, {a:#x}, {b:#x}, {compute(a, b) & MASK:#x}"
    for name, op in IMMEDIATE_OPS.items():
        for a, imm in itertools.product(CORNERS, IMMEDIATES):
            yield f"with {name}, {a:#x}, {imm}, {OPS[op](a, imm & MASK) & MASK:#x}"
    for name, op in SHIFTS.items():
        for a, imm in itertools.product(CORNERS, (0, 1, 16, 31)):
            yield f"with {name}, {a:#x}, {imm}, {OPS[op](a, imm) & MASK:#x}"
    for name, test in BRANCHES.items():
        for a, b in itertools.product((0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF), repeat=2):
            yield f"{'taken' if test(a, b) else 'passed'} {name}, {a:#x}, {b:#x}"


def hazards() -> Iterator[str]:
    """A result used by each of the next instructions, from each kind of instruction."""
    makers = {
        "add     a0, s1, s2": 12,
        "mul     a0, s1, s2": 35,
        "divu    a0, s2, s1": 1,
        "lw      a0, 0(s3)": 99,
        "amoadd.w a0, x0, (s3)": 99,
        "csrrw   a0, mscratch, s1": 5,
        "csrrs   a0, mscratch, x0": 5,
        "lui     a0, 1": 4096,
    }
    for maker, value in makers.items():
        for between in range(4):
            for use, expected in (
                ("add     a1, a0, s1", value + 5),
                ("add     a1, s1, a0", value + 5),
                ("mul     a1, a0, a0", value * value),
                ("sub     a1, x0, a0", -value),
            ):
                yield "csrw    mscratch, s1"
                yield "li      a0, 1000"
                yield maker
                yield from ["nop"] * between
                yield use
                yield f"check   a1, {expected & MASK:#x}"
            yield "li      a0, 1001"
            yield maker
            yield from ["nop"] * between
            yield "sw      a0, 64(sp)"
            yield "lw      a1, 64(sp)"
            yield f"check   a1, {value}"
            yield "li      a0, 1002"
            yield maker
            yield from ["nop"] * between
            yield f"addi    a2, a0, -{value}" if value < 2048 else "li a2, 0"
            yield "bnez    a2, fail"
    # a register that is written twice; x0, which is not
    yield from ("lw      a0, 0(s3)", "li      a0, 7", "check   a0, 7")
    yield from ("divu    a0, s2, s1", "li      a0, 7", "check   a0, 7")
    yield from ("li      a0, 7", "lw      a0, 0(s3)", "check   a0, 99")
    yield from ("addi    x0, s1, 1", "add     a0, x0, x0", "check   a0, 0")
    yield from ("lw      x0, 0(s3)", "add     a0, x0, x0", "check   a0, 0")
    yield from ("mul     x0, s1, s2", "mv      a0, x0", "check   a0, 0")


def program() -> str:
    head = """# SPDX-License-Identifier: MIT
# Made by isa.py.
    .include "test.inc"
    .macro computes op, a, b, result
    li      a0, \\a
    li      a1, \\b
    \\op     a2, a0, a1
    check   a2, \\result
    .endm
    .macro with op, a, imm, result
    li      a0, \\a
    \\op     a2, a0, \\imm
    check   a2, \\result
    .endm
    .macro taken op, a, b
    li      a0, \\a
    li      a1, \\b
    \\op     a0, a1, 1f
    j       fail
1:
    .endm
    .macro passed op, a, b
    li      a0, \\a
    li      a1, \\b
    \\op     a0, a1, 1f
    j       2f
1:  j       fail
2:
    .endm
main:
"""
    lines = [f"    {line}" for line in operations()]
    lines += ["    li      gp, 2", "    li      s1, 5", "    li      s2, 7"]
    lines += ["    addi    s3, sp, 32", "    li      s4, 99", "    sw      s4, 0(s3)"]
    lines += [f"    {line}" for line in hazards()]
    tail = """
    # jumps far and near, forwards and backwards, and what they leave in their register
    li      gp, 3
    jal     a0, 2f
1:  la      a1, 1b
    same    a0, a1
    j       3f
2:  jalr    a2, a0, 0
3:  la      a1, 3b
    same    a2, a1
    la      a0, far
    jalr    a0, a0, 0
4:  la      a1, 4b
    same    a0, a1
    auipc   a0, 0
    auipc   a1, 1
    sub     a1, a1, a0
    check   a1, 4100
    # a loop, predicted right and wrong
    li      a0, 0
    li      a1, 50
5:  addi    a0, a0, 1
    andi    a2, a0, 1
    beqz    a2, 6f
    addi    a3, a3, 1
6:  bne     a0, a1, 5b
    check   a3, 25
    j       pass
    .balign 4096
far:
    jr      a0
"""
    return head + "\n".join(lines) + tail


if __name__ == "__main__":
    print(program())
