# SPDX-License-Identifier: MIT
"""The first line of every file is a comment with the licence: SPDX-License-Identifier: MIT.

After an interpreter line (#!) or <?xml it is the second. Formats without comments, pictures and
data are exempt.
"""

from __future__ import annotations

from pathlib import Path

from common import Problem, main, read_lines

WANTED = "SPDX-License-Identifier: MIT"
NO_COMMENTS = {".json", ".csv", ".png", ".svg", ".pdf", ".mjpeg", ".jpg", ".jpeg", ".mp4", ".yuv"}
NO_COMMENTS |= {".bin", ".dat", ".sum", ".lock", ".vcd", ".expected", ".golden"}
OPENINGS = ("#", "//", "/*", "--", ";", "<!--", "%", "..", '.\\"', WANTED)
ONE_LATER = ("#!", "<?xml")


def check(root: Path, files: list[Path]) -> list[Problem]:
    problems = []
    for path in files:
        lines = read_lines(root / path)
        if path.suffix in NO_COMMENTS or not lines:
            continue
        place = 1 if lines[0].startswith(ONE_LATER) else 0
        line = lines[place] if place < len(lines) else ""
        if WANTED not in line or not line.lstrip().startswith(OPENINGS):
            problems.append(Problem(str(path), place + 1, f'no comment "{WANTED}" here'))
    return problems


if __name__ == "__main__":
    main("spdx", check, __doc__)
