# SPDX-License-Identifier: MIT
"""Libraries that leave something out, and their sizes.

usage: small.py [--root DIR] [--build DIR] BOARD [NAME...]     build, run, compare with sizes.toml
       small.py --update ...                                   ... and write the sizes there
       small.py --refused BOARD                                settings that CMake has to refuse
       small.py --each BOARD [NAME...]                         each feature left out alone, and each
                                                               policy alone: built and run
       small.py --defaults BOARD                               policy "steal" where nothing sets its
                                                               options: it has their defaults
       small.py --publish                                      write docs/results/board-size.md

A configuration (sizes.toml) is built in a folder of its own. Its programs run on 1 core and on
all that it allows. A size may shrink; one that grows by more than 2 percent is a failure.

Sizes are bytes of code and constants in the image of kernel.elf, by origin, from the linker's maps:
what fills up to an alignment is not counted. core: src/, but for the POSIX layer; posix: that;
port: port/, the board, its start and traps; libc: the C library and the compiler's. data: the
library's variables, zeroed ones too, without the stacks of cores; per_cpu: bytes of the
policy's own variables for each core.

A configuration with `ram_most` is measured by tasks.elf. ram: all fixed memory, by item; their sum
may not be above `ram_most`. taken.elf says what the library takes at run time.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOLERANCE = 1.02
KINDS = ("core", "posix", "port", "libc", "data", "per_cpu")
TASKS, TASK_STACK = 4, 1536  # of tasks.c
# Variables that are items of their own.
ITEMS = {"bare_core_stacks": "trap stack", "rt": "state, main", "table": "interrupts"}
OVERFLOWED = 134  # status of a program that a check of the library has ended
# Settings that CMake must refuse, and the beginning of the message; for a board without queues of
# threads in hardware.
REFUSED = {
    "-DPIRN_WITHOUT=trase": 'PIRN_WITHOUT: there is no feature "trase"; valid: everything, trace,',
    "-DPIRN_WITH=trace": 'PIRN_WITH="trace" says what stays of PIRN_WITHOUT=everything',
    "-DPIRN_POLICIES=steal;singel": 'there is no policy "singel"; valid: steal, single,',
    "-DPIRN_POLICIES=steal;hw": 'policy "hw" needs queues of threads in hardware, and the board '
    '{board} has none (no "scheduler" in [image.addresses] of its board.toml); boards that have '
    "them: pirn-soc, pirn-soc-incoherent; valid for {board}: steal, single, central, dist, "
    "request, gate, groups, fair",
    "-DPIRN_CPUS_MOST=0": 'PIRN_CPUS_MOST="0" is not valid; valid: 1 to 32',
    "-DPIRN_STACK_MIN=1000": 'PIRN_STACK_MIN="1000" is not valid; valid: 1024 to 1048576',
    "-DPIRN_STACK_MIN=2000": 'PIRN_STACK_MIN="2000" is not valid; valid: multiples of 64',
    "-DPIRN_THREADS_MOST=12": 'PIRN_THREADS_MOST="12" is not valid; valid: powers of two from 8 to '
    "65536",
    "-DPIRN_DESCRIPTOR=200": 'PIRN_DESCRIPTOR="200" is not valid; valid: multiples of 16',
    "-DPIRN_CORE_STACK=100": 'PIRN_CORE_STACK="100" is not valid; valid: 512 to 65536',
    "-DPIRN_HANDLER_ROOM=100": 'PIRN_HANDLER_ROOM="100" is not valid; valid: 256 to 65536',
    "-DPIRN_TRAP_STACK=256": 'PIRN_TRAP_STACK="256" is not valid: messages (a feature) need 2048 '
    "or more; valid: that, or on RISC-V without messages 256 or more",
    "-DPIRN_INTERRUPTS_MOST=0": 'PIRN_INTERRUPTS_MOST="0" is not valid; valid: 1 to 1024',
}


def call(*command: str | Path, **settings: str) -> subprocess.CompletedProcess[str]:
    words, environment = [str(c) for c in command], {**os.environ, **settings}
    return subprocess.run(words, env=environment, capture_output=True, text=True, check=False)


def configure(
    root: Path, board: str, build: Path, settings: list[str]
) -> subprocess.CompletedProcess[str]:
    return call("cmake", "-S", root, "--preset", "board", "-B", build, *settings, PIRN_BOARD=board)


def built(root: Path, board: str, build: Path, settings: list[str]) -> None:
    for step in (
        configure(root, board, build, settings),
        call("cmake", "--build", build, "--parallel", "2"),
    ):
        if step.returncode != 0:
            sys.exit(f"{step.args}\n{step.stdout[-6000:]}{step.stderr[-6000:]}")


def listed(text: str) -> list[tuple[str, int, str]]:
    """Of a linker's map: sections, their bytes, the files that they come from."""
    found = re.finditer(
        r"^ (\.\S+)\s*\n?\s+0x[0-9a-f]+\s+(0x[0-9a-f]+) (\S.*)$", text, re.MULTILINE
    )
    return [(m[1], int(m[2], 16), m[3]) for m in found]


def halves(map_file: Path) -> tuple[str, str]:
    """The sections that the linker dropped, and those in the output."""
    dropped, _, kept = map_file.read_text().partition("Linker script and memory map")
    return dropped, kept


def origin(file: str) -> str:
    if "pirn-pthread-objects.dir" in file:
        return "posix"
    return "port" if "/__/port/" in file or "/libc/" in file else "core"


class Library:
    """The library's one object: where its sections come from (its own map, archive.cmake).

    Sections of one name, of static functions in several files, differ by size: a dropped
    one has the size it had, a kept one has mostly become smaller. The last of one size count as
    dropped.
    """

    def __init__(self, name: str, own_map: Path, dropped: str) -> None:
        self.member = f"lib{name}.a("
        self.from_: dict[str, list[tuple[int, str]]] = {}
        for section, size, file in listed(halves(own_map)[1]):
            if size != 0:
                self.from_.setdefault(section, []).append((size, origin(file)))
        for section, size, file in listed(dropped):
            if self.has(file) and size != 0:
                self.drop(section, size)

    def has(self, file: str) -> bool:
        return self.member in file

    def drop(self, section: str, size: int) -> None:
        candidates = self.from_[section]
        candidates.pop(max(i for i, (was, _) in enumerate(candidates) if was == size))

    def origin(self, section: str, size: int) -> str:
        candidates = self.from_[section]
        fits = (i for i, (was, _) in enumerate(candidates) if was >= size)
        return candidates.pop(next(fits, 0))[1]


def nm(build: Path) -> str:
    """The compiler's, as CMake has found it."""
    found = re.search(r"^CMAKE_NM:FILEPATH=(.*)$", (build / "CMakeCache.txt").read_text(), re.M)
    return found[1] if found is not None else "nm"


def symbols(build: Path, program: str) -> str:
    elf = build / f"tests/board/small/{program}.elf"
    return call(nm(build), "--print-size", "--radix=d", elf).stdout


def ram(build: Path, entry: dict, data: int, taken: int) -> dict[str, int]:
    """The fixed memory by item. The stacks of the program's threads are not part of it."""
    listing = symbols(build, "tasks")
    items = {}
    for variable, item in ITEMS.items():
        found = re.search(rf"^-?\d+ (\d+) [bBdD] {variable}$", listing, re.MULTILINE)
        assert found is not None, variable
        items[item] = int(found[1])
    parts = [
        re.search(rf"^-?\d+ (\d+) [bBdD] {variable}$", listing, re.MULTILINE)
        for variable in ("sampler_room", "sampler")
    ]
    items["threads"] = TASKS * (sum(int(p[1]) for p in parts if p is not None) - TASK_STACK)
    items["variables"] = data - items["state, main"] - items["interrupts"]
    items["core's stack"] = entry["core_stack"]
    items["other"] = taken - entry["core_stack"]
    return items


def measure(build: Path, program: str, cpus: int, policy: str) -> dict[str, int]:
    sizes: Counter[str] = Counter(dict.fromkeys(KINDS, 0))
    dropped, kept = halves(build / f"tests/board/small/{program}.map")
    name = "pirn-pthread" if program == "kernel" else "pirn"
    own_map = build / ("src/posix" if program == "kernel" else "src") / f"{name}.map"
    library = Library(name, own_map, dropped)
    for section, size, file in listed(kept):
        ours = library.has(file) and size != 0
        if section.startswith((".text", ".rodata", ".srodata")):
            if ours:
                sizes[library.origin(section, size)] += size
            elif re.search(r"lib(c|gcc)\.a", file):
                sizes["libc"] += size
        elif ours and section.startswith((".data", ".sdata", ".bss", ".sbss")):
            sizes["data"] += size if "bare_core_stacks" not in section else 0
    listing = symbols(build, program)
    own = re.search(rf"^-?\d+ (\d+) [bBdD] {policy}(?:_cpus)?$", listing, re.MULTILINE)
    sizes["per_cpu"] = int(own[1]) // cpus if own is not None and policy != "single" else 0
    return dict(sizes)


def is_chip(root: Path, board: str) -> bool:
    description = tomllib.loads((root / "port" / "board" / board / "board.toml").read_text())
    return bool(description.get("tests", {}).get("chip", False))


def run_program(
    root: Path,
    board: str,
    build: Path,
    program: str,
    cpus: int,
    output: str | None,
    status: int = 0,
) -> str:
    """output: None: whatever it says; returns it"""
    image = build / f"tests/board/small/{program}.elf"
    # The chip's simulator is slow: CTest ends one that hangs.
    seconds = "0" if is_chip(root, board) else "120"
    options = ("--timeout", seconds, "--cpus", str(cpus))
    end = call(root / ".venv/bin/pirn", "board", "run", *options, board, image)
    if end.returncode != status or output not in (None, end.stdout):
        sys.exit(f"{image} with {cpus} cores: status {end.returncode}\n{end.stdout}{end.stderr}")
    return end.stdout


def run(root: Path, board: str, build: Path, cpus: int) -> None:
    for n in sorted({1, cpus}):
        run_program(root, board, build, "static", n, "static threads: done\n")
        run_program(root, board, build, "kernel", n, None)


def run_tasks(root: Path, board: str, build: Path, entry: dict, data: int) -> dict[str, int]:
    """On one core. Returns the fixed memory by item."""
    run_program(root, board, build, "tasks", 1, "")
    run_program(root, board, build, "overflow", 1, "", OVERFLOWED)
    return ram(build, entry, data, int(run_program(root, board, build, "taken", 1, None)))


def defaults(root: Path, board: str, build: Path) -> int:
    folder = build / "defaults"
    settings = ("-DPIRN_WITHOUT=everything", "-DPIRN_POLICIES=steal", "-DPIRN_SMALL_TESTS=ON")
    built(root, board, folder, [*settings, "-DPIRN_CPUS_MOST=4"])
    for cpus in (2, 4):
        run_program(root, board, folder, "thief", cpus, "amount=half end=far\n")
    return 0


def settings_of(entry: dict) -> list[str]:
    names = {"without": "PIRN_WITHOUT", "with": "PIRN_WITH", "policies": "PIRN_POLICIES"}
    lists = [f"-D{cmake}={';'.join(entry.get(key, []))}" for key, cmake in names.items()]
    numbers = {
        "threads": "PIRN_THREADS_MOST",
        "descriptor": "PIRN_DESCRIPTOR",
        "core_stack": "PIRN_CORE_STACK",
        "handlers": "PIRN_HANDLER_ROOM",
        "trap_stack": "PIRN_TRAP_STACK",
        "interrupts": "PIRN_INTERRUPTS_MOST",
    }
    return [
        *lists,
        *(f"-D{cmake}={entry[key]}" for key, cmake in numbers.items() if key in entry),
        f"-DPIRN_CPUS_MOST={entry['cpus']}",
        f"-DPIRN_STACK_MIN={entry['stack']}",
        "-DPIRN_SMALL_TESTS=ON",
    ]


def grown(name: str, sizes: dict[str, int], before: dict[str, int]) -> list[str]:
    return [
        f"{name}: {kind} has grown from {before.get(kind, 0)} to {size} bytes"
        for kind, size in sizes.items()
        if size > before.get(kind, 0) * TOLERANCE
    ]


def update(name: str, sizes: dict[str, int], items: dict[str, int]) -> None:
    line = "sizes = { " + ", ".join(f"{kind} = {sizes[kind]}" for kind in KINDS) + " }"
    if items:
        line += "\nram = { " + ", ".join(f'"{item}" = {n}' for item, n in items.items()) + " }"
    text = (HERE / "sizes.toml").read_text()
    head, found, rest = text.partition(f'[["{name}"]]\n'.replace("[[", "[").replace("]]", "]"))
    if not found:
        sys.exit(f"sizes.toml has no [{name}]")
    body, sep, others = rest.partition("\n[")
    body = re.sub(r"\n(sizes|ram) = .*", "", "\n" + body).strip("\n")
    (HERE / "sizes.toml").write_text(f"{head}{found}{body}\n{line}\n{sep}{others}")


def refused(root: Path, board: str, build: Path) -> int:
    failures = 0
    for setting, message in REFUSED.items():
        end = configure(root, board, build / "refused", ["--fresh", setting])
        message, said = message.format(board=board), " ".join(end.stderr.split())
        if end.returncode == 0 or message not in said:
            print(
                f"{setting}: expected an error with {message!r}, but CMake said: {said or 'none'}"
            )
            failures += 1
    return 1 if failures else 0


def alone(root: Path, board: str) -> dict[str, list[str]]:
    """Settings: each feature left out alone, each policy alone that the board can have."""
    text = (root / "src/features.cmake").read_text()
    features = re.findall(r"^ {4}(\w+) +#|^ {4}(\w+)\) +#", text, re.MULTILINE)
    policies = re.search(r"set\(policies ([^)]*)\)", text)
    assert features
    assert policies is not None
    settings = {a or b: [f"-DPIRN_WITHOUT={a or b}"] for a, b in features}
    image = tomllib.loads((root / "port/board" / board / "board.toml").read_text())["image"]
    queues = "scheduler" in image.get("addresses", {})
    available = [name for name in policies[1].split() if name != "hw" or queues]
    return settings | {name: [f"-DPIRN_POLICIES={name}"] for name in available}


def each(root: Path, board: str, build: Path, names: list[str]) -> int:
    known = alone(root, board)
    unknown = [name for name in names if name not in known]
    if unknown:
        sys.exit(f"no feature or policy {', '.join(unknown)}; valid: {', '.join(known)}")
    for name in names or known:
        built(root, board, build / "each", ["--fresh", *known[name], "-DPIRN_SMALL_TESTS=ON"])
        run(root, board, build / "each", 4)
        print(f"{name}: built, and runs")
    return 0


def ram_table() -> str:
    entries = tomllib.loads((HERE / "sizes.toml").read_text())
    measured = {name: entry["ram"] for name, entry in entries.items() if "ram" in entry}
    items = list(next(iter(measured.values())))
    rows = [f"| {' | '.join(('board, configuration', *items, 'sum'))} |"]
    rows.append("| :-- |" + " --: |" * (len(items) + 1))
    for name, ram_of in measured.items():
        values = [*(ram_of[item] for item in items), sum(ram_of.values())]
        rows.append(f"| {name} | " + " | ".join(str(v) for v in values) + " |")
    return "\n".join(rows) + "\n"


def table() -> str:
    entries = tomllib.loads((HERE / "sizes.toml").read_text())
    rows = [
        f"| {' | '.join(('board, configuration', *KINDS[:4], 'sum', *KINDS[4:]))} |",
        "| :-- |" + " --: |" * 7,
    ]
    for name, entry in entries.items():
        sizes = entry["sizes"]
        values = [*(sizes[kind] for kind in KINDS[:4]), sum(sizes[kind] for kind in KINDS[:4])]
        values += [sizes[kind] for kind in KINDS[4:]]
        rows.append(f"| {name} | " + " | ".join(str(v) for v in values) + " |")
    return "\n".join(rows) + "\n"


def publish(page: Path) -> None:
    text = page.read_text()
    for what, rows in (("measured", table()), ("ram", ram_table())):
        begin, end = f"<!-- {what}: begin -->", f"<!-- {what}: end -->"
        before, rest = text.split(begin)
        text = f"{before}{begin}\n{rows}\n{end}{rest.split(end)[1]}"
    page.write_text(text)


def check(
    root: Path, board: str, folder: Path, name: str, entry: dict, *, renew: bool
) -> list[str]:
    """Build, measure, run. Returns what is wrong."""
    built(root, board, folder, settings_of(entry))
    program = "tasks" if "ram_most" in entry else "kernel"
    policy = (entry.get("policies") or ["steal"])[0]
    sizes, items = measure(folder, program, entry["cpus"], policy), {}
    run(root, board, folder, entry["cpus"])
    if "ram_most" in entry:
        items = run_tasks(root, board, folder, entry, sizes["data"])
    print(name, sizes, items)
    failures = []
    if renew:
        update(name, sizes, items)
    else:
        failures += grown(name, sizes, entry.get("sizes", {}))
        failures += grown(f"{name}, RAM", items, entry.get("ram", {}))
    if items and sum(items.values()) > entry["ram_most"]:
        failures.append(
            f"{name}: {sum(items.values())} bytes of fixed RAM, more than ram_most, "
            f"{entry['ram_most']}"
        )
    return failures


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--root", type=Path, default=HERE.parents[2])
    parser.add_argument("--build", type=Path)
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--refused", action="store_true")
    parser.add_argument("--each", action="store_true")
    parser.add_argument("--defaults", action="store_true")
    parser.add_argument("--publish", action="store_true")
    parser.add_argument("board", nargs="?")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    if options.publish:
        publish(options.root / "docs/results/board-size.md")
        return 0
    build = options.build or options.root / "build" / options.board / "small"
    if options.refused:
        return refused(options.root, options.board, build)
    if options.defaults:
        return defaults(options.root, options.board, build)
    if options.each:
        return each(options.root, options.board, build, options.names)
    entries = tomllib.loads((HERE / "sizes.toml").read_text())
    names = [n for n in entries if n.startswith(f"{options.board}-")]
    unknown = [n for n in options.names if n not in names]
    if unknown or not names:
        parser.error(
            f"no configuration {', '.join(unknown) or options.board}; "
            f"valid: {', '.join(names or entries)}"
        )
    failures = []
    for name in options.names or names:
        folder, entry = build / name, entries[name]
        failures += check(options.root, options.board, folder, name, entry, renew=options.update)
    for failure in failures:
        print(failure)
    if failures:
        print(f"If that is meant: {sys.argv[0]} --update {options.board}; then `make board-size`")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
