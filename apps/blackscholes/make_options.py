#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes a file of options for blackscholes, in PARSEC's format, with reference prices.

    make_options.py COUNT FILE [--seed N]

The same count and seed make the same file. The first options are those of textbooks, the others
random. Reference prices are in double precision, by the error function instead of the program's
formula for the normal distribution; those of the textbooks must be what is printed there.
"""

import argparse
import math
import random
from pathlib import Path

Option = tuple[float, float, float, float, float, str]

# S, K, r, v, T, kind; the price as printed.
TEXTBOOKS = (
    # J. C. Hull, Options, Futures, and Other Derivatives: the chapter on the model
    ((42, 40, 0.10, 0.20, 0.5, "C"), "4.76"),
    ((42, 40, 0.10, 0.20, 0.5, "P"), "0.81"),
    # E. G. Haug, The Complete Guide to Option Pricing Formulas: chapter 1
    ((60, 65, 0.08, 0.30, 0.25, "C"), "2.1334"),
)


def below(x: float) -> float:
    """The normal distribution."""
    return 0.5 * math.erfc(-x / math.sqrt(2))


def price(s: float, k: float, r: float, v: float, t: float, kind: str) -> float:
    d1 = (math.log(s / k) + (r + v * v / 2) * t) / (v * math.sqrt(t))
    d2 = d1 - v * math.sqrt(t)
    if kind == "C":
        return s * below(d1) - k * math.exp(-r * t) * below(d2)
    return k * math.exp(-r * t) * below(-d2) - s * below(-d1)


def textbook(values: Option, printed: str) -> Option:
    """One of these, if the formula gives what is printed."""
    found = f"{price(*values):.{len(printed.partition('.')[2])}f}"
    if found != printed:
        raise SystemExit(f"{values}: {found}, and {printed} is printed")
    return values


def chosen(randomly: random.Random) -> Option:
    return (
        float(randomly.randrange(20, 111)),
        float(randomly.randrange(20, 111)),
        randomly.choice((0.025, 0.0275, 0.05, 0.075, 0.1)),
        randomly.randrange(10, 66, 5) / 100,
        randomly.randrange(1, 13) / 12,
        randomly.choice("CP"),
    )


def line(s: float, k: float, r: float, v: float, t: float, kind: str, reference: float) -> str:
    return f"{s:.2f} {k:.2f} {r:.4f} 0.00 {v:.2f} {t:.17g} {kind} 0.00 {reference:.18f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("count", type=int)
    parser.add_argument("file", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    if asked.count < 1:
        parser.error(f"COUNT {asked.count}: at least 1")
    randomly = random.Random(asked.seed)
    options = [textbook(*one) for one in TEXTBOOKS[: asked.count]]
    options += [chosen(randomly) for _ in range(asked.count - len(options))]
    lines = [line(*one, price(*one)) for one in options]
    asked.file.write_text("\n".join([str(asked.count), *lines]) + "\n")


if __name__ == "__main__":
    main()
