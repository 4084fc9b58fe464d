# SPDX-License-Identifier: MIT
"""Public headers, read as documentation: comments, and the declarations that stand under them.

It relies on these rules, which the tests check:
- The first comment behind the licence begins "name.h - what it is."
- `/* ---- title ---- */` begins a part.
- A comment that begins a line belongs to the declarations that follow until a blank line.
- A comment behind a declaration belongs to that one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

PART = re.compile(r"/\* ---- (.+?) ---- \*/")
FUNCTION = re.compile(r"\b(pirn_\w+|pthread_\w+_np)\s*\((?!\*)")
SKIPPED = re.compile(r"\s*#\s*(?:include|ifdef|ifndef|if|endif|else)\b|(?:extern \"C\" \{|\})\s*$")


@dataclass
class Item:
    """A comment and the declarations under it, up to a blank line."""

    comment: list[str]
    code: list[str] = field(default_factory=list)

    @property
    def functions(self) -> list[str]:
        """Names of the functions that are declared, in order."""
        text = re.sub(r"/\*.*?\*/", "", "\n".join(self.code), flags=re.DOTALL)
        text = re.sub(r"#\s*define(?:[^\n]*\\\n)*[^\n]*", "", text)
        text = re.sub(r"(?:typedef )?(?:struct|enum)[^;(){}]*\{[^}]*\}[^;]*;", "", text)
        text = re.sub(r"typedef[^;]*;", "", text)
        found = [match[1] for one in text.split(";") if (match := FUNCTION.search(one))]
        return list(dict.fromkeys(found))

    @property
    def is_described(self) -> bool:
        return bool(self.comment) or "/*" in "\n".join(self.code)


@dataclass
class Part:
    title: str
    items: list[Item] = field(default_factory=list)

    @property
    def functions(self) -> list[str]:
        return [name for item in self.items for name in item.functions]


@dataclass
class Header:
    name: str  # pirn.h
    summary: str
    comment: list[str]
    parts: list[Part]


def uncommented(lines: list[str]) -> list[str]:
    """The text of a comment, without its marks."""
    text = "\n".join(lines)
    text = re.sub(r"^\s*/\*+ ?|\s*\*/\s*$", "", text)
    return [re.sub(r"^\s*\* ?", "", line).rstrip() for line in text.splitlines()]


def _chunks(lines: list[str]) -> Iterator[list[str]]:
    """Comments of their own, and runs of code; an empty one is a blank line."""
    at = 0
    while at < len(lines):
        if lines[at].lstrip().startswith("/*"):
            end = at
            while "*/" not in lines[end]:
                end += 1
            # A comment that goes on behind code's first line is part of it; here it stands alone.
            yield lines[at : end + 1]
            at = end + 1
            continue
        depth, begin = 0, at
        while at < len(lines):
            line = lines[at]
            depth += line.count("{") - line.count("}")
            if depth <= 0 and not line.strip():
                break
            if depth <= 0 and at > begin and line.lstrip().startswith("/*"):
                break
            at += 1
        yield lines[begin:at]
        if at < len(lines) and not lines[at].strip():
            yield []
            at += 1


def _body(text: str) -> list[str]:
    """The lines between the licence and the end, without what only the compiler reads."""
    lines = text.splitlines()
    return [line for line in lines[1:] if not SKIPPED.match(line) or line.startswith("} ")]


def read(path: Path) -> Header:
    lines = _body(path.read_text())
    chunks = list(_chunks(lines))
    first = next(chunk for chunk in chunks if chunk and chunk[0].lstrip().startswith("/*"))
    about = uncommented(first)
    while about and not about[0]:
        about.pop(0)
    words = " ".join(about).split("\n")[0]
    match = re.match(r"(?:pirn/)?(\S+\.h) - (.*?[.:])(?:\s|$)", words)
    if match is None:
        raise ValueError(f"{path}: the first comment does not begin with its name and what it is")
    parts = [Part("")]
    item: Item | None = None
    for chunk in chunks[chunks.index(first) + 1 :]:
        if not chunk:
            item = None
            continue
        title = PART.fullmatch("\n".join(chunk).strip())
        if title:
            parts.append(Part(title[1]))
            item = None
        elif chunk[0].startswith("/*") and chunk[-1].rstrip().endswith("*/"):
            item = Item(uncommented(chunk))
            parts[-1].items.append(item)
        else:
            if item is None:
                item = Item([])
                parts[-1].items.append(item)
            item.code += chunk
    return Header(path.name, match[2].rstrip(".:"), about, [p for p in parts if p.items])
