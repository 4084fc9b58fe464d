# SPDX-License-Identifier: MIT
"""The first line of every file is a comment with the licence: SPDX-License-Identifier: MIT.

In kernel/bpf it is GPL-2.0-only, which Linux demands. After an interpreter line (#!) or <?xml it is
the second. Formats without comments, pictures and data are exempt.
"""

from __future__ import annotations

from pathlib import Path

from common import Problem, main, read_lines

WANTED = "SPDX-License-Identifier: MIT"
OTHERS = {"kernel/bpf": "SPDX-License-Identifier: GPL-2.0-only"}
NO_COMMENTS = {".json", ".csv", ".png", ".svg", ".pdf", ".mjpeg", ".jpg", ".jpeg", ".mp4", ".yuv"}
NO_COMMENTS |= {".bin", ".dat", ".sum", ".lock", ".vcd", ".abi", ".expected", ".golden"}
# Debian fixes their format to the last character.
NO_PLACE = {f"packaging/debian/{name}" for name in ("changelog", "copyright", "source/format")}
OPENINGS = ("#", "//", "/*", "--", ";", "<!--", "%", "..", "!", '.\\"', WANTED)
ONE_LATER = ("#!", "<?xml")


def check(root: Path, files: list[Path]) -> list[Problem]:
    problems = []
    for path in files:
        lines = read_lines(root / path)
        if path.suffix in NO_COMMENTS or str(path) in NO_PLACE or not lines:
            continue
        wanted = OTHERS.get(str(path.parent), WANTED)
        place = 1 if lines[0].startswith(ONE_LATER) else 0
        line = lines[place] if place < len(lines) else ""
        if wanted not in line or not line.lstrip().startswith(OPENINGS):
            problems.append(Problem(str(path), place + 1, f'no comment "{wanted}" here'))
    return problems


if __name__ == "__main__":
    main("spdx", check, __doc__)
