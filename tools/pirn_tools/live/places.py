# SPDX-License-Identifier: MIT
"""Where addresses of a process are, for people."""

from __future__ import annotations

from pirn_tools.live.objects import Object, Objects


class Places:
    """For the files of one process."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._known: dict[int, str] = {}

    def text(self, address: int) -> str:
        """`function at file.c:12`, or as much of that as is known."""
        if address not in self._known:
            self._known[address] = self._text(address)
        return self._known[address]

    def _text(self, address: int) -> str:
        found = self._objects.at(address)
        if found is None:
            return f"{address:#x}"
        symbol = found.nearest(address)
        name = symbol[0] if symbol is not None else f"{address:#x}"
        line = self._line(found, address)
        if line:
            return f"{name} at {line}"
        offset = f"+{symbol[1]:#x}" if symbol is not None and symbol[1] else ""
        return f"{name}{offset} in {found.file.name}"

    def _line(self, found: Object, address: int) -> str:
        place = found.file.own_line(address - found.bias)
        return f"{place.file.rpartition('/')[2]}:{place.line}" if place is not None else ""
