# SPDX-License-Identifier: MIT
"""Common to fuzz_trace.py and fuzz_prof.py: files that are damaged, seed by seed."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path

from pirn_tools.errors import UserError

SLOW = 20.0  # s of CPU time that nobody would wait for so small a file
SHOWN = 20  # failures


def attempt(use: Callable[[], None], well_said: Callable[[UserError], bool]) -> str | None:
    """The failure with one file; None: there was none. A refusal has to be well said."""
    start = time.process_time()
    try:
        use()
    except UserError as error:
        if not well_said(error):
            return f"the message does not say where: {error.message}"
    except Exception:
        return traceback.format_exc()
    took = time.process_time() - start
    return f"took {took:.0f} s" if took > SLOW else None


def failures(check: Callable[[int, Path], str | None], first: int, files: int) -> list[str]:
    """Of so many seeds; check makes a seed's file in the folder, and says what went wrong."""
    found = []
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("error")
        for seed in range(first, first + files):
            problem = check(seed, Path(folder))
            if problem is not None:
                found.append(f"seed {seed} (repeat: --first {seed} --files 1): {problem}")
    return found


def main(description: str | None, kind: str, fuzz: Callable[[int, int], list[str]]) -> int:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--files", type=int, default=100_000, help="how many (%(default)s)")
    parser.add_argument("--first", type=int, default=0, help="the first one's seed (%(default)s)")
    options = parser.parse_args()
    found = fuzz(options.first, options.files)
    for failure in found[:SHOWN]:
        print(failure, file=sys.stderr)
    print(f"{options.files} damaged {kind}, {len(found)} failures")
    return 1 if found else 0
