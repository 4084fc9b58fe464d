# SPDX-License-Identifier: MIT
"""Text in man(7) macros."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Sequence

REFERENCE = re.compile(r"^([\w-]+)\((\d)\)$")
CODE = re.compile(r"`([^`]+)`")
ITEM = re.compile(r"^(?:-|\d+\.) +")


def date() -> str:
    """Reproducible builds set the variable; otherwise the day of the build."""
    seconds = int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))
    return time.strftime("%Y-%m-%d", time.gmtime(seconds))


def head(name: str, section: int, version: str, book: str) -> list[str]:
    return [
        '.\\" SPDX-License-Identifier: MIT',
        f'.TH {name.upper()} {section} {date()} "pirn {version}" "{book}"',
    ]


def finished(lines: Sequence[str]) -> str:
    """The page: no paragraph begins directly under a heading, where one begins anyhow."""
    kept: list[str] = []
    for line in lines:
        if line == ".PP" and kept and kept[-1].startswith((".SH", ".SS", ".PP")):
            continue
        kept.append(line)
    return "\n".join(kept) + "\n"


def _characters(text: str) -> str:
    return text.replace("\\", "\\e").replace("-", "\\-")


def _line(text: str) -> str:
    """Not a request, whatever it begins with."""
    return "\\&" + text if text.startswith((".", "'")) else text


def escape(text: str) -> str:
    """A line of text."""
    return _line(_characters(text))


def inline(text: str) -> str:
    """The same, with `code` in bold."""
    parts = [_characters(part) for part in CODE.split(text)]
    return _line("".join(f"\\fB{p}\\fR" if i % 2 else p for i, p in enumerate(parts)))


def see_also(names: Iterable[str]) -> list[str]:
    """.BR lines of a SEE ALSO section, from "pirn(1)"."""
    lines = [".SH SEE ALSO"]
    wanted = [REFERENCE.match(name) for name in names]
    found = [match for match in wanted if match]
    for match in found:
        comma = "" if match is found[-1] else " ,"
        lines.append(f".BR {escape(match[1])} ({match[2]}){comma}")
    return lines


def code(lines: Sequence[str]) -> list[str]:
    """A block that keeps its lines."""
    return [".PP", ".RS 4", ".nf", *map(escape, lines), ".fi", ".RE"]


def paragraphs(lines: Sequence[str]) -> list[str]:
    """Prose as in the headers' comments: blank lines part paragraphs, `  - ` begins an item, and
    lines that stand four columns in are code."""
    out: list[str] = []
    for block in _blocks(lines):
        if all(line.startswith("    ") or not line for line in block):
            out += code([line[4:] for line in block])
        else:
            out += _prose(block)
    return out


def _blocks(lines: Sequence[str]) -> list[list[str]]:
    """Runs of prose, and of code with the blank lines in it."""
    blocks: list[list[str]] = []
    for line in lines:
        if not line.strip():
            blocks.append([])
        elif blocks:
            blocks[-1].append(line)
        else:
            blocks.append([line])
    joined: list[list[str]] = []
    for block in filter(None, blocks):
        is_code = all(line.startswith("    ") for line in block)
        if joined and is_code and all(line.startswith("    ") or not line for line in joined[-1]):
            joined[-1] += ["", *block]
        else:
            joined.append(block)
    return joined


def _prose(block: list[str]) -> list[str]:
    out: list[str] = [".PP"]
    for line in block:
        text = line.strip()
        if ITEM.match(text):
            out += [".IP \\(bu 2", inline(ITEM.sub("", text))]
        else:
            out.append(inline(text))
    return out
