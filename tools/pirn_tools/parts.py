# SPDX-License-Identifier: MIT
"""Parts of a page that a command writes: what stands between `<!-- NAME: begin (command) -->` and
`<!-- NAME: end -->`. The rest of the page is somebody's prose and stays as it is."""

from __future__ import annotations

import re
from pathlib import Path

from pirn_tools import paths
from pirn_tools.errors import UserError

FENCE = re.compile(r"^```")


def replace(page: Path, name: str, text: str) -> None:
    """The part's text is this from now on. The page must have the part, once."""
    old = page.read_text()
    begins = re.findall(rf"<!-- {re.escape(name)}: begin[^>]*-->", old)
    end = f"<!-- {name}: end -->"
    if len(begins) != 1 or old.count(end) != 1 or old.index(begins[0]) > old.index(end):
        raise UserError(f'{paths.short(page)} must have the part "{name}" once, begin and end')
    before, rest = old.split(begins[0])
    page.write_text(f"{before}{begins[0]}\n{text.strip()}\n{end}{rest.split(end)[1]}")


def deeper(text: str) -> str:
    """Headings a level lower: for a report that becomes a part of a page."""
    lines: list[str] = []
    inside = False
    for line in text.splitlines():
        if FENCE.match(line):
            inside = not inside
        lines.append(f"#{line}" if line.startswith("#") and not inside else line)
    return "\n".join(lines)


def without_title(text: str) -> str:
    """A report without its first line, `# Title`."""
    title, _, rest = text.partition("\n")
    return rest.strip() if title.startswith("# ") else text.strip()
