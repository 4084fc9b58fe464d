# SPDX-License-Identifier: MIT
"""Writes a program of random instructions by seed: a stream for each of four harts.

The simulator in lockstep says whether each is right; the program checks nothing but that it ends.
Registers s0 to s3 are the hart's memory, memory of all, the alias of the first, and a counter;
gp, sp, tp keep theirs.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable

FREE = ["ra", "t0", "t1", "t2", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "s4", "s5", "t3"]
ALU = ["add", "sub", "sll", "slt", "sltu", "xor", "srl", "sra", "or", "and"]
MULDIV = ["mul", "mulh", "mulhsu", "mulhu", "div", "divu", "rem", "remu"]
IMMEDIATE = ["addi", "slti", "sltiu", "xori", "ori", "andi"]
AMOS = ["swap", "add", "xor", "and", "or", "min", "max", "minu", "maxu"]
LOADS = {"lb": 1, "lbu": 1, "lh": 2, "lhu": 2, "lw": 4}
STORES = {"sb": 1, "sh": 2, "sw": 4}
BRANCHES = ["beq", "bne", "blt", "bge", "bltu", "bgeu"]
CSRS = ["mscratch", "minstret", "mcause", "mtval", "mhartid", "cycle", "mstatus", "mtvec", "0x7c0"]
STREAMS = 4


class Stream:
    """The instructions of one hart."""

    def __init__(self, rand: random.Random, number: int) -> None:
        self.rand = rand
        self.number = number
        self.labels = 0

    def reg(self) -> str:
        return self.rand.choice([*FREE, "x0"])

    def target(self) -> str:
        """Mostly few registers, so that instructions depend on each other."""
        return self.rand.choice(FREE if self.rand.random() < 0.3 else FREE[:5])

    def label(self) -> str:
        self.labels += 1
        return f"s{self.number}_{self.labels}"

    def alu(self) -> list[str]:
        return [f"{self.rand.choice(ALU)} {self.target()}, {self.reg()}, {self.reg()}"]

    def immediate(self) -> list[str]:
        r = self.rand
        if r.random() < 0.3:
            name = r.choice(["slli", "srli", "srai"])
            return [f"{name} {self.target()}, {self.reg()}, {r.randrange(32)}"]
        if r.random() < 0.2:
            return [f"{r.choice(['lui', 'auipc'])} {self.target()}, {r.randrange(1 << 20)}"]
        value = r.choice([r.randrange(-2048, 2048), r.randrange(-4, 5)])
        return [f"{r.choice(IMMEDIATE)} {self.target()}, {self.reg()}, {value}"]

    def muldiv(self) -> list[str]:
        return [f"{self.rand.choice(MULDIV)} {self.target()}, {self.reg()}, {self.reg()}"]

    def place(self, size: int) -> str:
        """Few lines, so that accesses meet; some far away, so that lines are replaced."""
        r = self.rand
        base = r.choice(["s0", "s0", "s1", "s1", "s2"])
        offset = r.randrange(0, 64, size) + r.choice([0, 0, 0, 16 * r.randrange(32)])
        if r.random() < 0.01:
            offset |= r.choice([1, 2, 3])
        return f"{offset}({base})"

    def load(self) -> list[str]:
        name, size = self.rand.choice(list(LOADS.items()))
        return [f"{name} {self.target()}, {self.place(size)}"]

    def store(self) -> list[str]:
        name, size = self.rand.choice(list(STORES.items()))
        return [f"{name} {self.reg()}, {self.place(size)}"]

    def atomic(self) -> list[str]:
        r = self.rand
        order = r.choice(["", ".aq", ".rl", ".aqrl"])
        base = r.choice(["s0", "s1", "s2"])
        lines = [f"addi t4, {base}, {r.randrange(0, 64, 4)}"]
        if r.random() < 0.6:
            name = f"amo{r.choice(AMOS)}.w{order}"
            return [*lines, f"{name} {self.target()}, {self.reg()}, (t4)"]
        lines += [f"lr.w{order} {self.target()}, (t4)", *self.some(r.randrange(3))]
        return [*lines, f"sc.w{order} {self.target()}, {self.reg()}, (t4)"]

    def some(self, count: int) -> list[str]:
        lines: list[str] = []
        for _ in range(count):
            lines += self.rand.choice([self.alu, self.immediate, self.load, self.store])()
        return lines

    def skip(self) -> list[str]:
        """A branch or jump forwards."""
        end = self.label()
        r = self.rand
        if r.random() < 0.7:
            jump = f"{r.choice(BRANCHES)} {self.reg()}, {self.reg()}, {end}"
        else:
            jump = f"jal {self.target()}, {end}"
        return [jump, *self.some(r.randrange(1, 5)), f"{end}:"]

    def loop(self) -> list[str]:
        start = self.label()
        body = self.some(self.rand.randrange(1, 6))
        count = self.rand.randrange(1, 6)
        return [f"li s3, {count}", f"{start}:", *body, "addi s3, s3, -1", f"bnez s3, {start}"]

    def call(self) -> list[str]:
        return [f"la t5, leaf{self.rand.randrange(4)}", "jalr t6, t5, 0"]

    def control(self) -> list[str]:
        r = self.rand
        kind = r.randrange(3)
        csr = r.choice(CSRS)
        if kind == 0 or csr in ("mtvec", "mstatus"):
            return [f"csrr {self.target()}, {csr}"]
        if kind == 1:
            return [f"csrrw {self.target()}, {csr}, {self.reg()}"]
        name = r.choice(["csrrsi", "csrrci", "csrrwi"])
        return [f"{name} {self.target()}, {csr}, {r.randrange(32)}"]

    def special(self) -> list[str]:
        r = self.rand
        wide = r.choice(["", "rw, rw", "w, r", "r, r", "r, w", "w, w"])
        return r.choice(
            [
                [f"fence {wide}"],
                [f"fence {wide}"],
                ["fence.i"],
                ["ecall"],
                ["ebreak"],
                [f".word {r.getrandbits(32) & ~0x7F:#x}"],
                [
                    f"addi t4, {r.choice(['s0', 's1'])}, {r.randrange(64)}",
                    ".insn i 15, 2, x0, t4, 2",
                ],
                ["li t4, 0x02004000", f"lw {self.target()}, {r.randrange(0, 8, 4)}(t4)"],
                ["li t4, 0x14000000", f"lbu {self.target()}, {r.randrange(16)}(t4)"],
                ["li t4, 0x12000000", f"lw {self.target()}, {r.randrange(0, 64, 4)}(t4)"],
                ["li t4, 0x12000000", f"sw {self.reg()}, {r.randrange(0, 64, 4)}(t4)"],
                [f"lw {self.target()}, {r.randrange(2048)}(x0)"],
            ]
        )

    def tick(self) -> list[str]:
        """A timer's interrupt, soon."""
        return [
            "li t4, 0x0200bff8",
            "lw t5, 0(t4)",
            f"addi t5, t5, {self.rand.randrange(60, 600)}",
            "li t4, 0x02004000",
            "slli t6, tp, 3",
            "add t4, t4, t6",
            "sw t5, 0(t4)",
            "sw x0, 4(t4)",
        ]

    def lines(self, count: int) -> list[str]:
        makers: list[tuple[Callable[[], list[str]], int]] = [
            (self.alu, 10),
            (self.immediate, 10),
            (self.muldiv, 4),
            (self.load, 14),
            (self.store, 12),
            (self.atomic, 4),
            (self.skip, 6),
            (self.loop, 2),
            (self.call, 1),
            (self.control, 3),
            (self.special, 3),
            (self.tick, 1),
        ]
        choices = self.rand.choices([m for m, _ in makers], [w for _, w in makers], k=count)
        return [line for maker in choices for line in maker()]


HEAD = """# SPDX-License-Identifier: MIT
# Made by random_program.py, seed {seed}.
    .include "test.inc"
main:
    la      t0, handler
    csrw    mtvec, t0
    li      t0, 0x80
    csrw    mie, t0
    csrsi   mstatus, 8
    mv      s0, sp
    la      s1, shared
    li      s2, ALIAS
    add     s2, s2, s0
    andi    t0, tp, 3
    la      t1, streams
    slli    t0, t0, 2
    add     t1, t1, t0
    lw      t1, 0(t1)
    jr      t1
"""
TAIL = """
leaf0:
    jr      t6
leaf1:
    lw      a0, 0(s1)
    jr      t6
leaf2:
    sw      a0, 4(s0)
    add     a1, a0, a1
    jr      t6
leaf3:
    divu    a1, a1, a0
    jr      t6

    .balign 4
handler:
    csrr    t4, mcause
    bltz    t4, 2f
    li      t5, 1
    beq     t4, t5, fail
    csrr    t4, mepc
    addi    t4, t4, 4
    csrw    mepc, t4
    mret
2:  slli    t4, tp, 3
    li      t5, 0x02004000
    add     t4, t4, t5
    li      t5, -1
    sw      t5, 4(t4)
    mret

    .data
    .balign 4
streams:
"""


def program(seed: int, count: int = 600) -> str:
    rand = random.Random(seed)
    parts = [HEAD.format(seed=seed)]
    for number in range(STREAMS):
        stream = Stream(rand, number)
        parts.append(f"stream{number}:")
        parts += [f"    li {reg}, {rand.getrandbits(32):#x}" for reg in FREE]
        parts += [f"    {line}" for line in stream.lines(count)]
        parts += ["    csrw mie, x0", "    j pass"]
    parts.append(TAIL)
    parts += [f"    .word stream{number}" for number in range(STREAMS)]
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    print(program(int(sys.argv[1])))
