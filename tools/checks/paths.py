# SPDX-License-Identifier: MIT
"""No file names a place that exists on one machine only: home folders, work folders of a build."""

from __future__ import annotations

import re
from pathlib import Path

from common import Problem, main, read_lines

# The folder's name must follow directly on the first slash of an absolute path: neither
# `lib/home/x` nor a web address counts.
MACHINE_PATH = re.compile(
    r"(?<![\w./:~$})*-])/(?:home|root|Users|work|workspace|builds|mnt)/[\w.@-]+"
)


def check(root: Path, files: list[Path]) -> list[Problem]:
    problems = []
    for path in files:
        if path.suffix in (".csv", ".lock"):
            continue
        for number, line in enumerate(read_lines(root / path), start=1):
            match = MACHINE_PATH.search(line)
            if match:
                problems.append(Problem(str(path), number, f"path of one machine: {match[0]}"))
    return problems


if __name__ == "__main__":
    main("paths", check, __doc__)
