# SPDX-License-Identifier: MIT
"""A reader of value change dumps, strict in what IEEE 1364 asks of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass
class Signal:
    """One variable, with all its changes: (time, value), x as None."""

    kind: str
    width: int
    changes: list[tuple[int, int | None]] = field(default_factory=list)

    def at(self, time: int) -> int | None:
        return [value for when, value in self.changes if when <= time][-1]


@dataclass
class Reader:
    """Reads a file word by word."""

    words: Iterator[str]
    codes: dict[str, Signal] = field(default_factory=dict)
    paths: dict[str, Signal] = field(default_factory=dict)
    scopes: list[str] = field(default_factory=list)
    now: int = 0

    def header(self) -> None:
        for word in self.words:
            body = list(iter(lambda: next(self.words), "$end"))
            if word == "$enddefinitions":
                assert body == []
                break
            self.declare(word, body)
        assert self.scopes == []

    def declare(self, word: str, body: list[str]) -> None:
        if word == "$scope":
            assert body[0] == "module"
            self.scopes.append(body[1])
        elif word == "$upscope":
            self.scopes.pop()
        elif word == "$var":
            kind, width, code, name = body
            path = ".".join([*self.scopes[1:], name])
            assert code not in self.codes
            assert path not in self.paths
            assert all(33 <= ord(char) <= 126 for char in code)
            self.codes[code] = self.paths[path] = Signal(kind, int(width))
        else:
            assert word in ("$date", "$version", "$comment", "$timescale"), word

    def values(self) -> None:
        assert next(self.words) == "$dumpvars"
        for word in self.words:
            if word == "$end":
                assert all(len(signal.changes) == 1 for signal in self.codes.values())
            elif word[0] == "#":
                assert int(word[1:]) > self.now or self.now == 0
                self.now = int(word[1:])
            else:
                self.change(word)

    def change(self, word: str) -> None:
        if word[0] == "b":
            signal = self.codes[next(self.words)]
            assert signal.width > 1
            assert len(word) - 1 <= signal.width
            value = None if "x" in word else int(word[1:], 2)
        else:
            signal = self.codes[word[1:]]
            assert signal.width == 1
            value = {"0": 0, "1": 1, "x": None}[word[0]]
        signal.changes.append((self.now, value))


def parse(text: str) -> tuple[dict[str, Signal], int]:
    """Signals by path (scope.name), and the last time."""
    reader = Reader(iter(text.split()))
    reader.header()
    reader.values()
    return reader.paths, reader.now
