# SPDX-License-Identifier: MIT
"""The descriptors of a process by /proc: file, pipe, socket with its peer.

The tables of sockets are read when the first one is asked for, once for each look.
"""

from __future__ import annotations

import ipaddress
import re
import struct
from functools import cached_property

from pirn_tools.errors import UserError
from pirn_tools.live.process import Process
from pirn_tools.terminal import printable

MOST_TABLE = 16 << 20  # bytes: 100,000 sockets
MOST_OPEN = 20_000  # descriptors among which the other end of a pipe is looked for
LONGEST = 60  # characters of a path
SOCKET = re.compile(r"socket:\[(\d+)\]")
ANONYMOUS = re.compile(r"anon_inode:\[?([^\]]*)\]?")
LISTEN = "0A"
TABLES = (("TCP", "tcp"), ("TCP", "tcp6"), ("UDP", "udp"), ("UDP", "udp6"))


class Descriptors:
    """Of one process, at one moment."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._known: dict[int, str] = {}

    def text(self, number: int) -> str:
        """`5 (TCP 127.0.0.1:80, peer 127.0.0.1:4711)`, or as much of that as is known."""
        if number not in self._known:
            what = self._what(number) if number >= 0 else ""
            self._known[number] = f"{number} ({what})" if what else str(number)
        return self._known[number]

    def _what(self, number: int) -> str:
        link = self._process.link(f"fd/{number}")
        socket = SOCKET.fullmatch(link)
        if socket is not None:
            return self._sockets.get(int(socket[1]), "socket")
        if link.startswith("pipe:"):
            return self._pipe(number, link)
        anonymous = ANONYMOUS.fullmatch(link)
        if anonymous is not None:
            return printable(anonymous[1]).removeprefix("[").removesuffix("]")
        return shortened(link)

    def _pipe(self, number: int, link: str) -> str:
        """With the other end, if the process has that as well."""
        mode = self._process.open_mode(number)
        ends = [
            other
            for other, found in self._links.items()
            if found == link and other != number and self._process.open_mode(other) != mode
        ]
        return f"pipe, other end: descriptor {min(ends)}" if ends else "pipe"

    @cached_property
    def _links(self) -> dict[int, str]:
        """Of all; of none where there are very many."""
        numbers = self._process.descriptors()
        return {n: self._process.link(f"fd/{n}") for n in numbers if len(numbers) <= MOST_OPEN}

    @cached_property
    def _sockets(self) -> dict[int, str]:
        """By inode."""
        found: dict[int, str] = {}
        for protocol, table in TABLES:
            for line in self._table(table):
                words = line.split()
                if len(words) > 9 and words[9].isdigit():
                    found[int(words[9])] = internet(protocol, words[1], words[2], words[3])
        for line in self._table("unix"):
            words = line.split(None, 7)
            if len(words) > 6 and words[6].isdigit():
                path = f" {shortened(words[7])}" if len(words) > 7 else ""
                found[int(words[6])] = f"Unix socket{path}"
        return found

    def _table(self, name: str) -> list[str]:
        try:
            return self._process.table(f"net/{name}", MOST_TABLE).split("\n")[1:]
        except UserError:  # too many
            return []


def shortened(path: str) -> str:
    """Its end, where it is long."""
    text = printable(path)
    return text if len(text) <= LONGEST else f"...{text[3 - LONGEST :]}"


def internet(protocol: str, local: str, remote: str, state: str) -> str:
    """A line of a table of TCP or UDP."""
    here, there = address(local), address(remote)
    if state == LISTEN and protocol == "TCP":
        return f"TCP, listens at {here}"
    if there.endswith(":0"):
        return f"{protocol} {here}"
    return f"{protocol} {here}, peer {there}"


def address(text: str) -> str:
    """From the kernel's form: words in the order of the machine's bytes, `:`, the port."""
    digits, _, port = text.partition(":")
    try:
        raw = bytes.fromhex(digits)
        words = struct.unpack(f">{len(raw) // 4}I", raw)
        number = int(port, 16)
        found = ipaddress.ip_address(struct.pack(f"={len(words)}I", *words))
    except (ValueError, struct.error):
        return "?"
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    found = mapped or found
    return f"[{found}]:{number}" if found.version == 6 else f"{found}:{number}"
