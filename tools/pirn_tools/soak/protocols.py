# SPDX-License-Identifier: MIT
"""Requests of the clients, and what the replies have to be.

A protocol is that of one connection. It knows what it has stored in the server: no other connection
uses the same keys.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Final

KEYS, LISTED = 100, 200  # of a connection; the longest list of a key
VOLATILE_MS = 1500


class ReplyError(Exception):
    """A reply that is not as expected; the text is for the user."""


class Protocol(ABC):
    def __init__(self, number: int) -> None:
        self.number = number
        self.chance = random.Random(number)
        self.expected: list[object] = []
        self.received = b""

    @abstractmethod
    def request(self) -> bytes:
        """The bytes of the next request; notes what is expected."""

    @abstractmethod
    def _take(self) -> tuple[object, int] | None:
        """The next reply of those that came, and its length; none if it is not whole."""

    def reply(self, data: bytes) -> bool:
        """Whether all replies to the request are there. ReplyError if one is not as expected."""
        self.received += data
        while self.expected:
            taken = self._take()
            if taken is None:
                return False
            value, length = taken
            self.received = self.received[length:]
            wanted = self.expected.pop(0)
            if value != wanted and not (isinstance(wanted, Either) and value in wanted.values):
                raise ReplyError(f"a wrong reply: {_shown(value)} instead of {_shown(wanted)}")
        if self.received:
            raise ReplyError(f"more than the reply: {_shown(self.received)}")
        return True

    def forget(self) -> None:
        """After an error: a new start."""
        self.expected = []
        self.received = b""


class Either:
    """More than one reply is right."""

    def __init__(self, *values: object) -> None:
        self.values = values

    def __repr__(self) -> str:
        return " or ".join(map(repr, self.values))


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}..."


class Redis(Protocol):
    """Strings, counters, lists; values that expire; long lists, which a thread of redis frees."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.lives = 0
        self._begin()

    def _begin(self) -> None:
        self.strings: dict[int, bytes] = {}
        self.counters: dict[int, int] = {}
        self.lists: dict[int, list[bytes]] = {}

    def forget(self) -> None:
        super().forget()
        self.lives += 1  # what is stored under the old names may be anything
        self._begin()

    def request(self) -> bytes:
        kinds = (self._set, self._get, self._count, self._push, self._range, self._volatile)
        make = self.chance.choices(kinds, (30, 35, 15, 14, 5, 1))[0]
        commands, self.expected = make(self.chance.randrange(KEYS))
        return b"".join(map(command, commands))

    def _key(self, kind: str, key: int) -> bytes:
        return f"{kind}:{self.number}:{self.lives}:{key}".encode()

    def _set(self, key: int) -> tuple[list[list[bytes]], list[object]]:
        value = self.chance.randbytes(self.chance.randrange(10, 1000))
        self.strings[key] = value
        return [[b"SET", self._key("s", key), value]], [b"OK"]

    def _get(self, key: int) -> tuple[list[list[bytes]], list[object]]:
        return [[b"GET", self._key("s", key)]], [self.strings.get(key)]

    def _count(self, key: int) -> tuple[list[list[bytes]], list[object]]:
        self.counters[key] = self.counters.get(key, 0) + 1
        return [[b"INCR", self._key("c", key)]], [self.counters[key]]

    def _push(self, key: int) -> tuple[list[list[bytes]], list[object]]:
        key %= KEYS // 10
        if len(self.lists.get(key, ())) >= LISTED:
            del self.lists[key]
            return [[b"UNLINK", self._key("l", key)]], [1]
        values = [b"%d" % self.chance.randrange(1 << 60) for _ in range(4)]
        self.lists[key] = values[::-1] + self.lists.get(key, [])
        commands = [[b"LPUSH", self._key("l", key), one] for one in values]
        length = len(self.lists[key])
        return commands, list(range(length - 3, length + 1))

    def _range(self, key: int) -> tuple[list[list[bytes]], list[object]]:
        key %= KEYS // 10
        wanted: list[object] = list(self.lists.get(key, [])[:10])
        return [[b"LRANGE", self._key("l", key), b"0", b"9"]], [wanted]

    def _volatile(self, key: int) -> tuple[list[list[bytes]], list[object]]:
        name = self._key("v", key)
        put = [b"SET", name, b"here", b"PX", b"%d" % VOLATILE_MS]
        return [[b"GET", name], put], [Either(None, b"here"), b"OK"]

    def _take(self) -> tuple[object, int] | None:
        return parse(self.received, 0)


def command(words: list[bytes]) -> bytes:
    """As redis wants it: an array of strings."""
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(one), one) for one in words)


def parse(data: bytes, at: int) -> tuple[object, int] | None:
    """A reply of redis and where it ends; none if it is not whole."""
    end = data.find(b"\r\n", at)
    if end < 0:
        return None
    kind, text, after = data[at : at + 1], data[at + 1 : end], end + 2
    if kind == b"+":
        return text, after
    if kind == b":":
        return int(text), after
    if kind == b"$":
        length = int(text)
        if length < 0:
            return None, after
        whole = after + length + 2
        return (data[after : after + length], whole) if len(data) >= whole else None
    if kind == b"*":
        values = []
        for _ in range(int(text)):
            taken = parse(data, after)
            if taken is None:
                return None
            value, after = taken
            values.append(value)
        return values, after
    raise ReplyError(f"redis says {_shown(data[at:end])}")


class Java(Protocol):
    """apps/soak/Soak.java: a number, and a sum."""

    PARTS: Final = 8
    STEPS: Final = 100

    def request(self) -> bytes:
        seed = self.chance.randrange(1 << 30)
        self.expected = [sum(self.part(seed + each) for each in range(self.PARTS))]
        return b"%d\n" % seed

    def part(self, x: int) -> int:
        total = 0
        for _ in range(self.STEPS):
            x = (x * 1103515245 + 12345) & 0x7FFFFFFF
            total += x % 1000
        return total

    def _take(self) -> tuple[object, int] | None:
        line, end, _ = self.received.partition(b"\n")
        if not end:
            return None
        if not line.isdigit():
            raise ReplyError(f"the server says {_shown(line)}")
        return int(line), len(line) + 1


PROTOCOLS: Mapping[str, Callable[[int], Protocol]] = {"redis": Redis, "java": Java}
