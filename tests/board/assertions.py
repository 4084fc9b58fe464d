# SPDX-License-Identifier: MIT
"""Builds the board's library with assertions and lock ranks (PIRN_DEBUG), and runs tests there.

usage: assertions.py --build DIR --tests REGEX BOARD TARGET...

DIR is a build folder of its own. The tests are those of the board whose names match REGEX; TARGETs
are what they need.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def run(*command: str | Path, **settings: str) -> None:
    words, environment = [str(c) for c in command], {**os.environ, **settings}
    end = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    if end.returncode != 0:
        sys.exit(f"{' '.join(words)}\n{end.stdout[-6000:]}{end.stderr[-6000:]}")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--tests", required=True)
    parser.add_argument("board")
    parser.add_argument("targets", nargs="+")
    options = parser.parse_args()
    folder = options.build
    preset = ("-S", ROOT, "--preset", "board", "-B", folder, "-DPIRN_DEBUG=ON")
    run("cmake", *preset, PIRN_BOARD=options.board)
    run("cmake", "--build", folder, "--parallel", "2", "--target", *options.targets)
    run(
        "ctest",
        "--test-dir",
        folder,
        "--no-tests=error",
        "--output-on-failure",
        "-R",
        options.tests,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
