# SPDX-License-Identifier: MIT
"""Markdown that the pages of several sets of figures have: their heads, tables, lists of words."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence


def begin(title: str, name: str, source: str) -> str:
    """The head of the page of `pirn bench figures NAME`; source: what is changed to change it."""
    return (
        "<!-- SPDX-License-Identifier: MIT -->\n"
        f"<!-- Written by `pirn bench figures {name}`: change pirn_tools/figures{source}. -->\n"
        f"# {title}"
    )


def table(head: Sequence[str], rows: Sequence[Sequence[str]], left: Collection[int] = (0,)) -> str:
    """Columns of numbers, but those in `left`."""
    rule = [":--" if at in left else "--:" for at in range(len(head))]
    return _lines(head, rule, *rows)


def facts(known: Mapping[str, str]) -> str:
    """A table without a head: what the figures were made by and on."""
    return "\n".join(["| | |", "| --- | --- |", _lines(*known.items())])


def picture(name: str, what: str) -> str:
    """A picture in the folder beside the page."""
    return f"![{what}](img/{name})"


def counted(number: int, what: str) -> str:
    """1 CPU, 2 CPUs."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def joined(words: Sequence[str]) -> str:
    """a, b and c."""
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last


def _lines(*lines: Sequence[str]) -> str:
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
