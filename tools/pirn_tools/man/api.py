# SPDX-License-Identifier: MIT
"""Section 3 from the public headers: a page for each part of pirn.h, one for each other header, and
for each function a page that refers to the one that describes it."""

from __future__ import annotations

import re
from pathlib import Path

from pirn_tools.man import headers, roff
from pirn_tools.man.headers import Header, Item, Part

BOOK = "Pirn Library"
MAIN = "pirn.h"
OTHERS = (
    "policy.h",
    "static.h",
    "pthread_np.h",
    "irq.h",
    "watchdog.h",
    "flags.h",
    "queue.h",
    "timer.h",
    "poll.h",
    "label.h",
    "record.h",
)
BOARDS = ("irq.h", "watchdog.h")


def pages(include: Path, version: str) -> dict[str, str]:
    main = headers.read(include / MAIN)
    found: dict[str, str] = {}
    names: list[str] = []
    for part in main.parts:
        if part.functions:
            name = page_name(part)
            names.append(name)
            found |= _with_links(name, part.functions, _part_page(name, main, part, version))
    for other in OTHERS:
        header = headers.read(include / other)
        name = f"pirn_{header.name.removesuffix('.h')}"
        names.append(name)
        functions = [one for part in header.parts for one in part.functions]
        found |= _with_links(name, functions, _header_page(name, header, version))
    found["pirn.3"] = _overview(main, names, version)
    return found


def page_name(part: Part) -> str:
    """The functions' common beginning (pirn_mutex), else the word before the title's colon."""
    shared: list[str] = []
    for words in zip(*(name.split("_") for name in part.functions), strict=False):
        if len(set(words)) > 1:
            break
        shared.append(words[0])
    return "_".join(shared) if len(shared) > 1 else f"pirn_{_titled(part)[0]}"


def _titled(part: Part) -> tuple[str, str]:
    """A word for the page's name, and what the page is about: "call: system calls that block"."""
    match = re.match(r"(\w+): (.*)", part.title)
    return (match[1], match[2]) if match else (part.title.split()[0].lower(), part.title)


def undescribed(header: Header) -> list[str]:
    """Functions without a word about them."""
    return [
        name
        for part in header.parts
        for item in part.items
        if not item.is_described
        for name in item.functions
    ]


def _with_links(name: str, functions: list[str], text: str) -> dict[str, str]:
    links = {f"{one}.3": f".so man3/{name}.3\n" for one in functions if one != name}
    return links | {f"{name}.3": text}


def _name_line(names: list[str], what: str) -> list[str]:
    return [".SH NAME", f"{', '.join(names)} \\- {roff.escape(what)}"]


def _library(header: Header) -> list[str]:
    if header.name == "pthread_np.h":
        return [".SH LIBRARY", "libpirn\\-pthread (\\-lpirn\\-pthread)"]
    if header.name in BOARDS:
        return [".SH LIBRARY", "libpirn on boards without an operating system"]
    return [".SH LIBRARY", "libpirn (\\-lpirn) and libpirn\\-pthread (\\-lpirn\\-pthread)"]


def _synopsis(header: Header, items: list[Item]) -> list[str]:
    lines = [".SH SYNOPSIS", ".nf", f".B #include <pirn/{header.name}>"]
    for item in items:
        if item.code:
            lines += [".PP", *(_declared(line) for line in _without_bodies(item.code))]
    return [*lines, ".fi"]


def _without_bodies(code: list[str]) -> list[str]:
    """Of a macro that goes on in further lines, the first alone."""
    kept: list[str] = []
    inside = False
    for line in code:
        goes_on = line.rstrip().endswith("\\")
        if not inside:
            kept.append(line.rstrip().rstrip("\\").rstrip() + " ..." if goes_on else line)
        inside = goes_on
    return kept


def _declared(line: str) -> str:
    """Code in bold, its comments not."""
    text = roff.escape(line.rstrip())
    text = re.sub(r"(/\*.*)$", r"\\fR\1\\fB", text) if "/*" in text else text
    if text.lstrip().startswith(("*", "\\fR/*")) and "*/" in text:
        return text.replace("\\fB", "").replace("\\fR", "")
    return f"\\fB{text}\\fR" if text else ""


def _described(items: list[Item]) -> list[str]:
    lines: list[str] = []
    for item in items:
        if item.comment:
            if item.functions:
                lines.append(f".SS {', '.join(f'{name}()' for name in item.functions)}")
            lines += roff.paragraphs(item.comment)
    return lines


def _part_page(name: str, header: Header, part: Part, version: str) -> str:
    names = list(dict.fromkeys([name, *part.functions]))
    lines = roff.head(name, 3, version, BOOK)
    lines += _name_line(names, _titled(part)[1]) + _library(header) + _synopsis(header, part.items)
    lines += [".SH DESCRIPTION", *_described(part.items)]
    lines += [".SH NOTES", "Errors, times and contexts are those of"]
    lines += [".BR pirn (3)", "unless said otherwise."]
    lines += roff.see_also(["pirn(1)", "pirn(3)", "libpirn-pthread(7)"])
    return roff.finished(lines)


def _header_page(name: str, header: Header, version: str) -> str:
    functions = [one for part in header.parts for one in part.functions]
    items = [item for part in header.parts for item in part.items]
    lines = roff.head(name, 3, version, BOOK)
    lines += _name_line(list(dict.fromkeys([name, *functions])), header.summary)
    lines += _library(header) + _synopsis(header, items) + [".SH DESCRIPTION"]
    lines += roff.paragraphs(header.comment)
    for part in header.parts:
        if part.title:
            lines.append(f".SH {roff.escape(part.title.upper())}")
        lines += _described(part.items)
    lines += roff.see_also(["pirn(1)", "pirn(3)", "libpirn-pthread(7)"])
    return roff.finished(lines)


def _overview(header: Header, names: list[str], version: str) -> str:
    lines = roff.head("pirn", 3, version, BOOK)
    lines += [*_name_line(["pirn"], "native API of the Pirn threads runtime"), *_library(header)]
    lines += [".SH SYNOPSIS", f".B #include <pirn/{header.name}>", ".SH DESCRIPTION"]
    lines += roff.paragraphs(header.comment)
    lines += [".PP", "C++ has the same in", ".IR <pirn/pirn.hpp> ."]
    lines += roff.see_also(
        ["pirn(1)", *(f"{name}(3)" for name in sorted(names)), "libpirn-pthread(7)"]
    )
    return roff.finished(lines)
