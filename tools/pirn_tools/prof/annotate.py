# SPDX-License-Identifier: MIT
"""`pirn prof annotate`: source files with the samples and calls of each line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pirn_tools import files
from pirn_tools.errors import UserError, did_you_mean
from pirn_tools.prof.model import Tree
from pirn_tools.prof.symbols import Function

LARGEST = 64 << 20  # bytes of a source file

CONTEXT = 3  # lines around those that count


@dataclass
class Source:
    """One source file."""

    path: str
    samples: Counter[int] = field(default_factory=Counter)  # by line
    calls: Counter[int] = field(default_factory=Counter)

    @property
    def total(self) -> int:
        return self.samples.total()


@dataclass
class Annotation:
    """Every line that the profile knows something of."""

    sources: list[Source]  # most samples first
    unknown: int  # samples in code without lines


def compute(tree: Tree) -> Annotation:
    """From the samples' addresses and the call sites."""
    sources: dict[str, Source] = {}
    unknown = 0
    for node in tree.nodes:
        for (_, pc), times in node.samples.items():
            place = tree.symbols.line(pc)
            if place is None:
                unknown += times
            else:
                sources.setdefault(place.file, Source(place.file)).samples[place.line] += times
        place = tree.symbols.line(node.site - 1) if node.calls and node.site else None
        if place is not None:
            sources.setdefault(place.file, Source(place.file)).calls[place.line] += node.calls
    ordered = sorted(sources.values(), key=lambda one: (-one.total, -one.calls.total(), one.path))
    return Annotation(ordered, unknown)


def chosen(found: Annotation, name: str | None, most: int) -> list[Source]:
    """The files to show: those of that name, or those with most samples."""
    if name is None:
        return found.sources[:most]
    sources = [one for one in found.sources if one.path == name or one.path.endswith(f"/{name}")]
    if not sources:
        known = [Path(one.path).name for one in found.sources]
        raise UserError(
            f'no line of a file "{name}" is in this part of the profile{did_you_mean(name, known)}',
            status=2,
        )
    return sources


def spans(tree: Tree, name: str) -> dict[str, tuple[int, int]]:
    """The first and the last line of the functions of that name, by file."""
    ids = tree.matching((name,))
    functions: dict[int, Function] = {
        id(node.function): node.function
        for node in tree.nodes
        if id(node) in ids and node.function is not None
    }
    found: dict[str, tuple[int, int]] = {}
    for function in functions.values():
        if function.file is None:
            continue
        places = function.file.span(function.start, function.end)
        home = places[0].file if places else None  # other files' lines are inlined ones
        numbers = [place.line for place in places if place.file == home]
        if home is not None:
            low, high = found.get(home, (min(numbers), max(numbers)))
            found[home] = min(low, *numbers, low), max(high, *numbers, high)
    if not found:
        raise UserError(f"{name} has no lines: its file was built without -g, or is missing")
    return found


def find(path: str, folders: tuple[Path, ...]) -> list[str] | None:
    """The text of a source file: where it was compiled, or below one of the folders."""
    parts = Path(path).parts
    places = [Path(path)]
    for folder in folders:
        places += [folder.joinpath(*parts[first:]) for first in range(1, len(parts))]
    for place in places:
        try:
            return files.read_ordinary(place, LARGEST).decode(errors="replace").splitlines()
        except (OSError, ValueError):  # not there, no ordinary file, or no path at all
            continue
    return None


def show(
    tree: Tree, source: Source, text: list[str] | None, span: tuple[int, int] | None
) -> Iterator[str]:
    """The lines that count, and those around them; of a function all."""
    calls = source.calls.total()
    also = f", {calls:,} calls" if calls else ""
    yield f"{source.path}: {source.total:,} samples ({tree.share(source.total):.2f}%){also}"
    numbers = _shown(source, text, span)
    last = 0
    for number in numbers:
        if last and number > last + 1:
            yield "     ..."
        last = number
        code = ""
        if text is not None:
            code = _clean(text[number - 1]) if number <= len(text) else "(no such line)"
        yield _row(tree, source, number, code)


def _shown(source: Source, text: list[str] | None, span: tuple[int, int] | None) -> list[int]:
    counting = {*source.samples, *source.calls}
    if span is not None:
        low, high = span
        counting = {number for number in counting if low <= number <= high}
        if text is not None:
            # The line table begins with the body; the name stands before.
            return list(range(max(1, low - 1), min(high, len(text)) + 1))
    if text is None:
        return sorted(counting)
    around = {
        near
        for number in counting
        for near in range(max(1, number - CONTEXT), number + CONTEXT + 1)
        if near <= max(len(text), number)
    }
    return sorted(around)


def _row(tree: Tree, source: Source, number: int, code: str) -> str:
    samples, calls = source.samples[number], source.calls[number]
    share = f"{tree.share(samples):6.2f}% {samples:>9,}" if samples else " " * 17
    times = f"{calls:,}x" if calls else ""
    return f"{share} {times:>14} {number:>6}  {code}".rstrip()


def _clean(line: str) -> str:
    return "".join(char if char.isprintable() or char == "\t" else "?" for char in line)


def as_json(tree: Tree, found: Annotation, sources: list[Source]) -> dict[str, Any]:
    return {
        "samples": tree.total,
        "without_lines": found.unknown,
        "files": [
            {
                "path": one.path,
                "samples": one.total,
                "lines": [
                    {"line": number, "samples": one.samples[number], "calls": one.calls[number]}
                    for number in sorted({*one.samples, *one.calls})
                ],
            }
            for one in sources
        ],
    }
