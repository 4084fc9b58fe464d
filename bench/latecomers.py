#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws which thread runs in each tick when threads start late: docs/guide/classes.md.

    .venv/bin/python bench/latecomers.py [--program build/debug/tests/sim/pirn-latecomers]

Writes --output (docs/guide/img/latecomers.png). The runs are the simulator's, so every picture
is the same.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from pirn_tools.errors import UserError
from pirn_tools.figures.latecomers import draw, panels

ROOT = Path(__file__).resolve().parent.parent


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    program = ROOT / "build" / "debug" / "tests" / "sim" / "pirn-latecomers"
    parser.add_argument("--program", type=Path, default=program, help="built by the preset debug")
    output = ROOT / "docs" / "guide" / "img" / "latecomers.png"
    parser.add_argument("--output", type=Path, default=output, help="the picture")
    return parser.parse_args()


def main() -> int:
    options = arguments()
    try:
        if not options.program.exists():
            raise UserError(f"{options.program} is not built: cmake --build --preset debug")
        draw(options.output, list(panels(options.program).values()))
    except UserError as error:
        print(f"latecomers: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
