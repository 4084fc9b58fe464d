# SPDX-License-Identifier: MIT
"""Litmus tests of the memory order: programs of two to four harts, and what RVWMO forbids.

A program runs its test many times: the harts meet, wait for a random time, execute their few
instructions, and meet again; hart 0 counts the outcomes and prints them. Variables are words of two
lines, which the harts have in their caches, or not, at random.
"""

from __future__ import annotations

from dataclasses import dataclass

# In a hart's instructions x and y stand for the variables; a0 and a1 are its results.
FENCE = "fence rw, rw"


@dataclass(frozen=True)
class Litmus:
    """A test. An outcome is the tuple of the harts' results, in order."""

    name: str
    harts: tuple[tuple[str, ...], ...]
    results: tuple[int, ...]  # how many each hart has
    forbidden: tuple[tuple[int, ...], ...] = ()
    wanted: tuple[tuple[int, ...], ...] = ()  # the chip shows them, sooner or later


def store(var: str, value: int = 1) -> str:
    return f"li t0, {value}\n    sw t0, 0({var})"


def load(number: int, var: str) -> str:
    return f"lw a{number}, 0({var})"


X, Y = "s0", "s1"

TESTS = (
    Litmus(
        "SB",
        ((store(X), load(0, Y)), (store(Y), load(0, X))),
        (1, 1),
        wanted=((0, 0),),
    ),
    Litmus(
        "SB+fences",
        ((store(X), FENCE, load(0, Y)), (store(Y), FENCE, load(0, X))),
        (1, 1),
        forbidden=((0, 0),),
    ),
    Litmus(
        "SB+amos",
        (
            ("li t0, 1", f"amoswap.w t1, t0, ({X})", load(0, Y)),
            ("li t0, 1", f"amoswap.w t1, t0, ({Y})", load(0, X)),
        ),
        (1, 1),
        forbidden=((0, 0),),
    ),
    Litmus("MP", ((store(X), store(Y)), (load(0, Y), load(1, X))), (0, 2)),
    Litmus(
        "MP+fences",
        ((store(X), FENCE, store(Y)), (load(0, Y), FENCE, load(1, X))),
        (0, 2),
        forbidden=((1, 0),),
    ),
    Litmus(
        "MP+fence.w.w+fence.r.r",
        ((store(X), "fence w, w", store(Y)), (load(0, Y), "fence r, r", load(1, X))),
        (0, 2),
        forbidden=((1, 0),),
    ),
    Litmus(
        "MP+rl+aq",
        (
            (store(X), "li t0, 1", f"amoswap.w.rl x0, t0, ({Y})"),
            (f"amoor.w.aq a0, x0, ({Y})", load(1, X)),
        ),
        (0, 2),
        forbidden=((1, 0),),
    ),
    Litmus("LB", ((load(0, X), store(Y)), (load(0, Y), store(X))), (1, 1)),
    Litmus(
        "LB+fences",
        ((load(0, X), FENCE, store(Y)), (load(0, Y), FENCE, store(X))),
        (1, 1),
        forbidden=((1, 1),),
    ),
    Litmus(
        "LB+datas",
        ((load(0, X), f"sw a0, 0({Y})"), (load(0, Y), f"sw a0, 0({X})")),
        (1, 1),
        forbidden=((1, 1), (1, 0), (0, 1)),
    ),
    Litmus(
        "WRC+fences",
        ((store(X),), (load(0, X), FENCE, f"sw a0, 0({Y})"), (load(0, Y), FENCE, load(1, X))),
        (0, 1, 2),
        forbidden=((1, 1, 0),),
    ),
    Litmus(
        "IRIW+fences",
        (
            (store(X),),
            (store(Y),),
            (load(0, X), FENCE, load(1, Y)),
            (load(0, Y), FENCE, load(1, X)),
        ),
        (0, 0, 2, 2),
        forbidden=((1, 0, 1, 0),),
    ),
    Litmus(
        "CoRR",
        ((store(X),), (load(0, X), load(1, X))),
        (0, 2),
        forbidden=((1, 0),),
    ),
    Litmus(
        "CoRR-two",
        ((store(X, 1),), (store(X, 2),), (load(0, X), load(1, X)), (load(0, X), load(1, X))),
        (0, 0, 2, 2),
        forbidden=(
            *((a, 0, c, d) for a in (1, 2) for c in range(3) for d in range(3)),
            *((a, b, c, 0) for c in (1, 2) for a in range(3) for b in range(3)),
            (1, 2, 2, 1),
            (2, 1, 1, 2),
        ),
    ),
    Litmus(
        "CoWR",
        ((store(X, 1), load(0, X)), (store(X, 2),)),
        (1, 0),
        forbidden=((0,),),
    ),
    Litmus(
        "S+fences",
        ((store(X, 2), FENCE, store(Y)), (load(0, Y), FENCE, store(X, 1), FENCE, load(1, X))),
        (0, 2),
        forbidden=((1, 2),),
    ),
)

HEAD = """# SPDX-License-Identifier: MIT
# Made by litmus.py: {name}.
    .include "test.inc"
    .equ ROUNDS, {rounds}

main:
    li      s2, ROUNDS
    la      s0, shared
    la      s1, shared+{distance}
    la      s3, results
    slli    t0, tp, 3
    add     s3, s3, t0
    la      s4, histogram
    slli    s5, tp, 10
    addi    s5, s5, {seed}
    li      s6, {places}            # a digit for each hart: its part in the test
    slli    t0, tp, 2
    srl     s6, s6, t0
    andi    s6, s6, 15
round:
    bnez    tp, 1f
    sw      x0, 0(s0)
    sw      x0, 0(s1)
    fence
1:  call    meet
    call    rand
    andi    t0, s5, 1
    beqz    t0, 2f
    lw      a0, 0(s0)               # into the cache
2:  andi    t0, s5, 2
    beqz    t0, 3f
    lw      a0, 0(s1)
3:  call    meet
    call    rand
    li      a0, 0
    li      a1, 0
    andi    t0, s5, 63
    srli    t1, s5, 6
    andi    t1, t1, 3
    sll     t0, t0, t1              # up to 8 times as long
4:  addi    t0, t0, -1
    bgtz    t0, 4b
"""
TAIL = """
    j       ended
rand:
    slli    t0, s5, 13
    xor     s5, s5, t0
    srli    t0, s5, 17
    xor     s5, s5, t0
    slli    t0, s5, 5
    xor     s5, s5, t0
    ret
ended:
    bltz    s6, 5f
    la      t0, results
    slli    t1, s6, 3
    add     t0, t0, t1
    sw      a0, 0(t0)
    sw      a1, 4(t0)
    fence
5:  call    meet
    bnez    tp, 6f
    call    count
6:  addi    s2, s2, -1
    bnez    s2, round
    bnez    tp, 7f
    call    print
7:  j       pass

    # An outcome is a number of three digits of base 3 a result.
count:
    la      t0, results
    li      t1, 0
    li      t2, 8
1:  lw      t3, 0(t0)
    slli    t4, t1, 1
    add     t1, t1, t4
    add     t1, t1, t3
    addi    t0, t0, 4
    addi    t2, t2, -1
    bnez    t2, 1b
    slli    t1, t1, 2
    la      t0, histogram
    add     t0, t0, t1
    lw      t1, 0(t0)
    addi    t1, t1, 1
    sw      t1, 0(t0)
    ret

    # "outcome count" in hexadecimal digits, for all that have happened
print:
    mv      s10, ra
    li      s7, 0
    li      s9, 6561
1:  slli    t0, s7, 2
    la      t1, histogram
    add     t0, t0, t1
    lw      s8, 0(t0)
    beqz    s8, 2f
    mv      a0, s7
    li      a1, 32
    call    hex
    mv      a0, s8
    li      a1, 10
    call    hex
2:  addi    s7, s7, 1
    bne     s7, s9, 1b
    jr      s10
hex:
    li      t0, UART
    li      t1, 32
1:  addi    t1, t1, -4
    srl     t2, a0, t1
    andi    t2, t2, 15
    li      t3, 10
    blt     t2, t3, 2f
    addi    t2, t2, 39
2:  addi    t2, t2, 48
    sb      t2, 0(t0)
    bnez    t1, 1b
    sb      a1, 0(t0)
    ret

    .data
    .balign 64
results:
    .zero   8*8
    .balign 64
histogram:
    .zero   6561*4
"""


def digits(test: Litmus, outcome: tuple[int, ...]) -> int:
    """The number by which the program counts an outcome."""
    rest = list(outcome)
    value = 0
    for hart in range(4):
        count = test.results[hart] if hart < len(test.results) else 0
        for i in range(2):
            value = value * 3 + (rest.pop(0) if i < count else 0)
    return value


def program(test: Litmus, places: list[int], rounds: int, seed: int, distance: int) -> str:
    """places: the hart of each part."""
    parts = [15] * 8
    for part, hart in enumerate(places):
        parts[hart] = part
    word = sum(part << 4 * hart for hart, part in enumerate(parts))
    head = HEAD.format(
        name=test.name, rounds=rounds, distance=distance, seed=seed, places=f"{word:#x}"
    )
    lines = ["    li t0, 15", "    beq s6, t0, none"]
    for part, code in enumerate(test.harts):
        lines += [f"    li t0, {part}", f"    bne s6, t0, other{part}"]
        lines += [f"    {line}" for line in code]
        lines += ["    j ended", f"other{part}:"]
    lines += ["none:", "    li s6, -1"]
    return head + "\n".join(lines) + TAIL


def read(output: str) -> dict[int, int]:
    """Outcomes that a program has printed."""
    rows = [line.split() for line in output.splitlines()]
    return {int(number, 16): int(count, 16) for number, count in rows}


def verdict(test: Litmus, counted: dict[int, int]) -> str:
    """The text of the failure; empty: none."""
    for outcome in test.forbidden:
        count = counted.get(digits(test, outcome), 0)
        if count:
            return f"{test.name}: the forbidden outcome {outcome} came {count} times"
    return ""
