# SPDX-License-Identifier: MIT
"""`pirn prof pprof`: the format that pprof reads (profile.proto, in gzip).

The messages are described here, as far as they are used, for the protobuf package to write them;
numbers and types are those of the format's published description. Every way through the tree is a
stack: its calls are one sample of it, what was found in it others, with labels for CPU and thread.
"""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from pirn_tools.prof.model import Node, Tree
from pirn_tools.prof.symbols import Function

DEEPEST = 500  # locations of a stack, the innermost ones

# Messages with their fields: number, name, type, whether repeated.
MESSAGES: dict[str, tuple[tuple[int, str, str, bool], ...]] = {
    "ValueType": ((1, "type", "int64", False), (2, "unit", "int64", False)),
    "Label": (
        (1, "key", "int64", False),
        (2, "str", "int64", False),
        (3, "num", "int64", False),
        (4, "num_unit", "int64", False),
    ),
    "Sample": (
        (1, "location_id", "uint64", True),
        (2, "value", "int64", True),
        (3, "label", "Label", True),
    ),
    "Mapping": (
        (1, "id", "uint64", False),
        (2, "memory_start", "uint64", False),
        (3, "memory_limit", "uint64", False),
        (4, "file_offset", "uint64", False),
        (5, "filename", "int64", False),
        (6, "build_id", "int64", False),
        (7, "has_functions", "bool", False),
        (8, "has_filenames", "bool", False),
        (9, "has_line_numbers", "bool", False),
    ),
    "Line": ((1, "function_id", "uint64", False), (2, "line", "int64", False)),
    "Location": (
        (1, "id", "uint64", False),
        (2, "mapping_id", "uint64", False),
        (3, "address", "uint64", False),
        (4, "line", "Line", True),
    ),
    "Function": (
        (1, "id", "uint64", False),
        (2, "name", "int64", False),
        (3, "system_name", "int64", False),
        (4, "filename", "int64", False),
        (5, "start_line", "int64", False),
    ),
    "Profile": (
        (1, "sample_type", "ValueType", True),
        (2, "sample", "Sample", True),
        (3, "mapping", "Mapping", True),
        (4, "location", "Location", True),
        (5, "function", "Function", True),
        (6, "string_table", "string", True),
        (9, "time_nanos", "int64", False),
        (10, "duration_nanos", "int64", False),
        (11, "period_type", "ValueType", False),
        (12, "period", "int64", False),
        (13, "comment", "int64", True),
        (14, "default_sample_type", "int64", False),
    ),
}


def _message_classes() -> dict[str, Any]:
    """A class for each message."""
    file = descriptor_pb2.FileDescriptorProto(
        name="pprof_profile.proto", package="perftools.profiles", syntax="proto3"
    )
    kinds = descriptor_pb2.FieldDescriptorProto
    for name, fields in MESSAGES.items():
        message = file.message_type.add(name=name)
        for number, field, kind, repeated in fields:
            one = message.field.add(
                name=field,
                number=number,
                label=kinds.LABEL_REPEATED if repeated else kinds.LABEL_OPTIONAL,
            )
            if kind in MESSAGES:
                one.type, one.type_name = kinds.TYPE_MESSAGE, f".perftools.profiles.{kind}"
            else:
                one.type = kinds.Type.Value(f"TYPE_{kind.upper()}")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {
        name: message_factory.GetMessageClass(
            pool.FindMessageTypeByName(f"perftools.profiles.{name}")
        )
        for name in MESSAGES
    }


CLASSES = _message_classes()
LARGEST = (1 << 63) - 1  # the format's numbers are signed


class Writer:
    """Fills the message."""

    def __init__(self, tree: Tree, inlines: bool) -> None:
        self.tree = tree
        self.inlines = inlines
        self.message = CLASSES["Profile"]()
        self.strings: dict[str, int] = {}
        self.mappings: dict[int, int] = {}
        self.locations: dict[tuple[int, int], int] = {}
        self.functions: dict[int, int] = {}
        self.callers: dict[int, int] = {}  # location of what called a node, by its id
        self.cut = 0  # stacks that are deeper than DEEPEST
        self.text("")

    def text(self, words: str) -> int:
        if words not in self.strings:
            self.strings[words] = len(self.strings)
            self.message.string_table.append(words)
        return self.strings[words]

    def fill(self) -> Any:  # noqa: ANN401
        """The whole message."""
        profile, message = self.tree.profile, self.message
        clock = profile.clock if profile.clock == "cpu" else "wall"
        kinds = [("calls", "count"), ("samples", "count"), (clock, "nanoseconds")]
        if self.tree.waits:  # as Go's profiles of waits and of locks have them
            kinds, clock = [("contentions", "count"), ("delay", "nanoseconds")], "delay"
        for kind, unit in kinds:
            message.sample_type.add(type=self.text(kind), unit=self.text(unit))
        message.default_sample_type = self.text(clock if self.tree.total else "calls")
        message.time_nanos = min(LARGEST, profile.number("start_unix_ns"))
        message.duration_nanos = min(LARGEST, profile.number("elapsed_ns"))
        if profile.rate and not self.tree.waits:
            message.period_type.type = self.text(clock)
            message.period_type.unit = self.text("nanoseconds")
            message.period = round(1e9 / profile.rate)
        self._mappings()
        for node in self.tree.nodes:
            self._node(node)
        return message

    def _mappings(self) -> None:
        ordered = sorted(
            self.tree.profile.maps, key=lambda one: one.path != self.tree.profile.program
        )
        for number, one in enumerate(ordered, 1):
            file = self.tree.symbols.file(one.path) if one.path else None
            self.mappings[one.start] = number
            self.message.mapping.add(
                id=number,
                memory_start=one.start,
                memory_limit=one.end,
                file_offset=one.offset,
                filename=self.text(_valid(one.path)),
                build_id=self.text(file.build_id if file is not None else ""),
                has_functions=True,
                has_filenames=True,
                has_line_numbers=True,
            )

    def _node(self, node: Node) -> None:
        stack = self._callers(node)
        thread = node.root.label
        if self.tree.waits:
            self._wait(node, stack, thread)
            return
        if node.calls and node.function is not None:
            here = self._location(self.tree.symbols.start(node.function), node.function)
            self._sample([here, *stack], [min(LARGEST, node.calls), 0, 0], thread, None)
        for (cpu, pc), times in node.samples.items():
            inside = self.tree.symbols.inside(pc)
            locations = [self._location(pc, inside)]
            # Counted for who reported it: the function that it was in stands below that one.
            if node.kind != "root" and node.function is not None and inside is not node.function:
                locations.append(
                    self._location(self.tree.symbols.start(node.function), node.function)
                )
            ns = round(self.tree.seconds(times) * 1e9)
            values = [0, min(LARGEST, times), min(LARGEST, ns)]
            self._sample([*locations, *stack], values, thread, cpu)

    def _sample(self, stack: list[int], values: list[int], thread: str, cpu: int | None) -> None:
        if len(stack) > DEEPEST:
            self.cut += 1
        one = self.message.sample.add(location_id=stack[:DEEPEST], value=values)
        one.label.add(key=self.text("thread"), str=self.text(_valid(thread)))
        if cpu is not None:
            # As text: a number that is 0 is no label.
            one.label.add(key=self.text("cpu"), str=self.text(f"CPU {cpu}"))

    def _wait(self, node: Node, stack: list[int], thread: str) -> None:
        if node.kind == "wait" and node.function is not None:
            values = [min(LARGEST, node.calls), min(LARGEST, node.own)]
            self._sample([self._location(0, node.function), *stack], values, thread, None)

    def _callers(self, node: Node) -> list[int]:
        """The stack below a node's own location, innermost first."""
        found: list[int] = []
        while node.parent is not None and node.parent.kind != "root" and len(found) <= DEEPEST:
            key = id(node)
            if key not in self.callers:
                self.callers[key] = self._caller(node, node.parent)
            found.append(self.callers[key])
            node = node.parent
        return found

    def _caller(self, node: Node, up: Node) -> int:
        """Where the one above called it; else which function that was."""
        assert up.function is not None  # noqa: S101, only roots have none
        known = node.site and self.tree.symbols.before(node.site) is up.function
        here = node.site - 1 if known else self.tree.symbols.start(up.function)
        return self._location(here, up.function)

    def _location(self, address: int, function: Function) -> int:
        key = (address, id(function))
        if key not in self.locations:
            self.locations[key] = number = len(self.locations) + 1
            mapping = self.tree.symbols.mapping(address)
            place = self.tree.symbols.line(address) if address else None
            # The beginning of a function stands for all of it.
            exact = self.inlines and address != self.tree.symbols.start(function)
            one = self.message.location.add(id=number, address=address)
            if mapping is not None:
                one.mapping_id = self.mappings[mapping.start]
            number_of_line = place.line if place is not None else 0
            # Innermost first, each with the line in it.
            for inner, called in reversed(self.tree.symbols.inlined(address)) if exact else ():
                one.line.add(function_id=self._function(inner, address), line=number_of_line)
                number_of_line = called
            one.line.add(function_id=self._function(function, address), line=number_of_line)
        return self.locations[key]

    def _function(self, function: Function, address: int) -> int:
        if id(function) not in self.functions:
            self.functions[id(function)] = number = len(self.functions) + 1
            place = self.tree.symbols.line(address) if address else None
            name = self.text(_valid(function.name))
            self.message.function.add(
                id=number,
                name=name,
                system_name=name,
                filename=self.text(place.file if place is not None else ""),
            )
        return self.functions[id(function)]


def _valid(text: str) -> str:
    """Strings of the format are UTF-8; names of files need not be."""
    return text.encode("utf-8", "replace").decode("utf-8")


def write(tree: Tree, output: Path, inlines: bool = False) -> str:
    """Writes it; what is not in it, in words."""
    writer = Writer(tree, inlines)
    data = writer.fill().SerializeToString()
    output.write_bytes(gzip.compress(data, 6, mtime=0))
    return f"{writer.cut:,} stacks are cut at {DEEPEST} functions" if writer.cut else ""
