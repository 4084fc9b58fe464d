# SPDX-License-Identifier: MIT
"""The text section of a trace: what its events are called and what their fields mean.

Every trace carries the list of its events, so that one of an older or newer library is read by what
it says itself. Lines, their columns separated by tabs:

    event  ID  NAME  THREAD|ANY  FIELDS  text      FIELDS: record-field=name:type, spaces between
    enum   KIND  VALUE  NAME                       what the numbers of a type are called
    meta   KEY  VALUE                              what ran

Lines of other kinds are passed over: a later library may have more to say.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from pirn_tools.errors import UserError

PLACES = ("small", "a", "b", "ab", "text")
FIRST_EVENT = 4  # smaller numbers are records that are no events
LAST_EVENT = 255


class TraceError(UserError):
    """A file that is no trace, or a damaged one: which file, where in it, what was expected."""

    def __init__(self, path: object, offset: int, message: str) -> None:
        super().__init__(f"{path}: at offset {offset}: {message}")


@dataclass(frozen=True)
class Field:
    """One field of an event: where it stands in the record, what it is called, of what type."""

    place: str
    name: str
    type: str


@dataclass(frozen=True)
class EventType:
    """One line of the list of events."""

    id: int
    name: str
    ring: str
    fields: tuple[Field, ...]
    text: str

    def field(self, name: str) -> Field | None:
        return next((one for one in self.fields if one.name == name), None)

    @property
    def has_text(self) -> bool:
        return any(one.place == "text" for one in self.fields)


@dataclass
class Table:
    """The text section."""

    events: dict[int, EventType] = field(default_factory=dict)
    enums: dict[str, dict[int, str]] = field(default_factory=dict)
    meta: dict[str, str] = field(default_factory=dict)

    def named(self, name: str) -> EventType | None:
        return next((event for event in self.events.values() if event.name == name), None)

    def enum_name(self, kind: str, value: int) -> str:
        return self.enums.get(kind, {}).get(value, str(value))

    def enum_value(self, kind: str, name: str) -> int | None:
        values = self.enums.get(kind, {})
        return next((value for value, known in values.items() if known == name), None)


def parse(path: object, data: bytes, offset: int) -> Table:
    """The section's lines; offset is where it begins in the file, for messages."""
    table = Table()
    place = offset
    for line in data.split(b"\n"):
        _line(table, path, place, line.rstrip(b"\0"))
        place += len(line) + 1
    if not table.events:
        raise TraceError(path, offset, "no list of events where the header says that it begins")
    return table


def _line(table: Table, path: object, offset: int, line: bytes) -> None:
    columns = line.decode(errors="replace").split("\t")
    kind = columns[0]
    if kind == "event":
        event = _event(path, offset, columns)
        if event.id in table.events or table.named(event.name) is not None:
            raise TraceError(path, offset, f"event {event.id} {shown(event.name)} is listed twice")
        table.events[event.id] = event
    elif kind == "enum":
        if len(columns) != 4 or not re.fullmatch(r"[0-9]{1,9}", columns[2]):
            raise TraceError(path, offset, 'expected "enum", a type, a number and a name')
        table.enums.setdefault(columns[1], {})[int(columns[2])] = columns[3]
    elif kind == "meta":
        if len(columns) != 3:
            raise TraceError(path, offset, 'expected "meta", a key and a value')
        table.meta[columns[1]] = columns[2]


def shown(word: str) -> str:
    """A word of the file as part of a message."""
    text = "".join(char if char.isprintable() else "?" for char in word)
    return text if len(text) <= 40 else text[:37] + "..."


def _event(path: object, offset: int, columns: list[str]) -> EventType:
    if len(columns) != 6:
        count = len(columns) - 1
        raise TraceError(path, offset, f"the line of an event has 5 columns, not {count}")
    _, number, name, ring, fields, text = columns
    if not re.fullmatch(r"[0-9]{1,3}", number) or not FIRST_EVENT <= int(number) <= LAST_EVENT:
        want = f"{FIRST_EVENT} to {LAST_EVENT}"
        raise TraceError(path, offset, f'"{shown(number)}" is not the number of an event ({want})')
    if ring not in ("THREAD", "ANY"):
        raise TraceError(
            path, offset, f'event {shown(name)} is of ring "{shown(ring)}" (valid: THREAD, ANY)'
        )
    return EventType(int(number), name, ring, _fields(path, offset, fields), text)


def _fields(path: object, offset: int, text: str) -> tuple[Field, ...]:
    found = []
    for word in text.split():
        match = re.fullmatch(r"(\w+)=(\w+):(\w+)", word)
        if match is None or match[1] not in PLACES:
            raise TraceError(
                path, offset, f'"{shown(word)}" is not a field (record-field=name:type)'
            )
        found.append(Field(match[1], match[2], match[3]))
    return tuple(found)
