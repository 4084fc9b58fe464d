# SPDX-License-Identifier: MIT
"""`pirn prof tree`, `path`, `flat`: which samples and calls count where, and what is shown."""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from profiles import Writer, example, needs_cc, prof, program, tree

from pirn_tools.binary import elf
from pirn_tools.prof import flat
from pirn_tools.prof.model import Selection
from pirn_tools.prof.pprof import CLASSES

pytestmark = needs_cc
BIAS = 0x5555_5555_0000


@pytest.fixture(params=["-no-pie", "-pie"])
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The example; a program that can be anywhere is somewhere."""
    binary = program(request.param)
    return example(binary, BIAS if request.param == "-pie" else 0).save(tmp_path / "p.prof")


def lines(*arguments: object) -> list[str]:
    result = prof(*arguments)
    assert result.exit_code == 0, result.output
    return [
        line.replace(word, "calls.c")
        for line in result.stdout.splitlines()
        for word in [line.partition("(calls")[2].partition(":")[0] or "?"]
        for word in ["calls" + word if word != "?" else "?"]
    ]


def shares(file: Path, **selection: Any) -> dict[str, tuple[int, int, int]]:  # noqa: ANN401
    """Of each function: own, total, calls."""
    found = tree(file, Selection(**selection))
    return {row.function.name: (row.own, row.total, row.calls) for row in flat.compute(found)}


def test_tree_has_functions_sites_samples_and_calls(file: Path) -> None:
    assert lines("tree", file)[:7] == [
        "threads of worker (2) - 50.00% (50) - 0.00% (0)",
        "  worker (-) - 50.00% (50) - 2.00% (2) - 2 calls",
        "    middle (calls.c:31) - 28.00% (28) - 0.00% (0) - 4 calls",
        "      leaf (calls.c:16) - 28.00% (28) - 28.00% (28) - 4 calls",
        "    again (calls.c:32) - 20.00% (20) - 12.00% (12) - 6 calls",
        "      again (calls.c:26) - 8.00% (8) - 8.00% (8) - 54 calls",
        "main thread - 35.00% (35) - 0.00% (0)",
    ]


def test_tree_shows_ways_to_a_function_and_levels_below(file: Path) -> None:
    found = lines("tree", file, "-u", "middle", "--depth", "0")
    assert [line.split(" - ")[0].strip() for line in found] == [
        "threads of worker (2)",
        "worker (-)",
        "middle (calls.c:31)",
        "main thread",
        "main (-)",
        "middle (calls.c:38)",
    ]
    assert len(lines("tree", file, "-u", "middle", "--depth", "1")) == 10
    assert len(lines("tree", file, "-u", "middle", "-u", "again")) == 12
    assert len(lines("tree", file, "--depth", "1")) == 6
    assert len(lines("tree", file, "--min", "21")) == 7


def test_unknown_names_are_refused_with_the_nearest(file: Path) -> None:
    for words, text in (
        (
            ["-u", "midle"],
            'no function "midle" in this part of the profile; did you mean "middle"?',
        ),
        (["--thread", "frist"], 'no thread "frist"; did you mean "first"?'),
    ):
        result = prof("tree", file, *words)
        assert result.exit_code == 2
        assert text in result.output


def test_threads_and_cpus_are_chosen(file: Path) -> None:
    first = lines("tree", file, "--thread", "first", "--merge", "none")
    assert first[0] == 'thread 3.1 "first" - 100.00% (25) - 0.00% (0)'
    for word in ("3", "3.1", "fir*"):
        assert lines("tree", file, "--thread", word, "--merge", "none") == first
    assert shares(file, threads=("user",))["worker"] == (2, 50, 2)
    assert shares(file, threads=("main",), cpu=1) == {
        "main": (0, 5, 1),
        "middle": (0, 5, 1),
        "leaf": (0, 0, 2),
        "plain": (5, 5, 0),
    }
    assert [line.split(" - ")[0].strip() for line in lines("tree", file, "--cpu", "0")] == [
        "main thread",
        "main (-)",
        "middle (calls.c:38)",
        "leaf (calls.c:16)",
        "leaf (calls.c:18)",
        "idle CPUs",
        "[unknown] (-)",
    ]
    one = lines("tree", file, "--merge", "all")
    assert one[0] == "all threads (4) - 100.00% (100) - 0.00% (0)"
    assert sum(line.startswith("    middle") for line in one) == 2


def test_flat_counts_a_sample_once_where_functions_call_themselves(file: Path) -> None:
    found = shares(file)
    assert found["again"] == (20, 20, 60)
    assert found["middle"] == (10, 63, 5)
    assert found["leaf"] == (48, 48, 6)
    assert found["plain"] == (5, 5, 0)
    heads = [line.split()[6] for line in lines("flat", file, "--sort", "calls")[1:]]
    assert heads[:2] == ["again", "leaf"]
    assert len(lines("flat", file, "--most", "2")) == 3


def test_samples_count_for_who_reported_when_asked(file: Path) -> None:
    found = shares(file, instrumented=True)
    assert found["middle"] == (15, 63, 5)
    assert "plain" not in found
    last = lines("flat", file, "--instrumented")[-1]
    assert last == "15 samples (15.00%) with no function active"


def test_path_goes_to_the_heaviest_each_time(file: Path) -> None:
    rows = [line.split() for line in lines("path", file)]
    assert [row[5] for row in rows[2:]] == ["worker", "middle", "leaf"]
    assert rows[4][:5] == ["28.00", "0.280", "28.00", "0.280", "4"]


def test_json_has_the_same(file: Path) -> None:
    nodes = json.loads(prof("tree", file, "--json").stdout)["nodes"]
    assert len(nodes) == 14
    again = [one for one in nodes if one["name"] == "again"]
    assert again[1]["parent"] == again[0]["id"]
    assert (again[0]["total"], again[0]["own"], again[0]["calls"]) == (20, 12, 6)
    functions = json.loads(prof("flat", file, "--json").stdout)["functions"]
    assert functions[0]["name"] == "leaf"
    assert functions[0]["own"] == 48
    assert len(json.loads(prof("path", file, "--json").stdout)["nodes"]) == 4


def test_same_way_twice_is_one(tmp_path: Path) -> None:
    w = Writer(program("-no-pie"))
    root = w.root("main", "main")
    for calls in (3, 4):
        node = w.call(root, "middle", "main+9", calls)
        w.sample(node, "middle+1", 2)
        w.sample(node, "middle+1", 1)
    found = shares(w.save(tmp_path / "p"))
    assert found == {"middle": (6, 6, 7)}


def test_frames_become_functions_called_where_the_caller_is(tmp_path: Path) -> None:
    w = Writer(program("-no-pie"))
    root = w.root("user", "worker")
    outer = w.node(root, "frame", "worker+9")
    one, two = w.node(outer, "frame", "middle+8"), w.node(outer, "frame", "middle+20")
    w.sample(one, "leaf+2", 3)
    w.sample(two, "leaf+2", 4)
    w.sample(outer, "middle+3", 2)
    w.sample(root, "worker+1", 1)
    found = lines("tree", w.save(tmp_path / "p"))
    assert found[1:] == [
        "  worker (-) - 100.00% (10) - 10.00% (1) - not counted",
        "    middle (calls.c:31) - 90.00% (9) - 20.00% (2) - not counted",
        "      leaf (calls.c:18) - 40.00% (4) - 40.00% (4) - not counted",
        "      leaf (calls.c:16) - 30.00% (3) - 30.00% (3) - not counted",
    ]


def test_samples_of_inlined_functions_are_theirs(tmp_path: Path) -> None:
    w = Writer(program("-no-pie"))
    root = w.root("main", "main")
    outer = w.call(root, "middle", "main+9")
    inlined = w.call(outer, "plain", "main+9")  # its site is that of the outer one
    called = w.call(outer, "leaf", "middle+8")
    w.sample(inlined, "middle+8", 3)
    w.sample(called, "middle+8", 2)  # before leaf has reported that it ends
    found = shares(w.save(tmp_path / "p"))
    assert found["plain"] == (3, 3, 1)
    assert found["middle"] == (2, 5, 1)
    assert found["leaf"] == (0, 2, 1)


def test_names_of_cplusplus_are_readable(tmp_path: Path) -> None:
    text = "namespace a { struct B { int f(int n) const; }; }\n"
    text += "int a::B::f(int n) const { return n; }\nint main() { return a::B().f(0); }\n"
    w = Writer(program("-no-pie", text=text, suffix=".cc"))
    w.call(w.root(), "_ZNK1a1B1fEi", "main+5", 3)
    file = w.save(tmp_path / "p")
    assert "a::B::f(int) const (" in lines("tree", file)[1]
    assert len(lines("tree", file, "-u", "a::B::f")) == 2


def test_functions_are_addresses_when_the_file_is_missing(tmp_path: Path) -> None:
    w = Writer()
    w.add("map", "0x10000", "0x20000", "0x1000", "/nonexistent/lib.so")
    root = w.root()
    node = w.call(root, 0x10010, 0x10100, 2)
    w.sample(node, 0x10020, 1)
    w.sample(root, 0x30000, 1)
    result = prof("tree", w.save(tmp_path / "p"))
    assert "lib.so+0x1010 (lib.so+0x1100)" in result.stdout
    assert "[lib.so] (-)" in result.stdout
    assert "[unknown] (-)" in result.stdout
    assert result.stderr.count("/nonexistent/lib.so cannot be read: No such file") == 1


def test_stripped_program_has_addresses(tmp_path: Path) -> None:
    w = Writer(program("-no-pie"))
    stripped = program("-no-pie", "-s")
    w.lines = [line.replace(str(program("-no-pie")), str(stripped)) for line in w.lines]
    w.call(w.root(), "leaf", "main+9", 3)
    result = prof("flat", w.save(tmp_path / "p"))
    assert result.exit_code == 0, result.output
    assert f"{stripped.name}+0x" in result.stdout


@pytest.mark.skipif(shutil.which("objcopy") is None, reason="no objcopy")
def test_debug_file_is_found_by_its_build_id(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    binary = program("-pie", "-Wl,--build-id=0x12345678")
    debug = tmp_path / "debug" / "12" / "345678.debug"
    debug.parent.mkdir(parents=True)
    stripped = tmp_path / "stripped"
    subprocess.run(["objcopy", "--only-keep-debug", binary, debug], check=True)
    subprocess.run(["objcopy", "--strip-all", binary, stripped], check=True)
    w = example(binary, BIAS)
    w.lines = [line.replace(str(binary), str(stripped)) for line in w.lines]
    file = w.save(tmp_path / "p.prof")
    assert "again" not in shares(file)
    monkeypatch.setattr(elf, "DEBUG", tmp_path / "debug")
    assert shares(file)["again"] == (20, 20, 60)
    assert "    middle (calls.c:31) - 28.00% (28) - 0.00% (0) - 4 calls" in lines("tree", file)


def test_program_newer_than_the_profile_is_said(tmp_path: Path) -> None:
    w = example(program("-no-pie"))
    w.add("meta", "start_unix_ns", 1_000_000_000)
    w.add("meta", "elapsed_ns", 1_000_000_000)
    result = prof("flat", w.save(tmp_path / "p"))
    assert result.stderr.count("is newer than the profile: names and lines may be wrong") == 1


def test_deep_recursion_is_shown(tmp_path: Path) -> None:
    w = Writer(program("-no-pie"))
    node = w.root()
    for _ in range(20000):
        node = w.call(node, "again", "again+15")
    w.sample(node, "again+3", 5)
    file = w.save(tmp_path / "p")
    found = lines("tree", file)
    assert len(found) == 20001
    assert len(found[-1]) < 200
    assert shares(file)["again"] == (5, 5, 20000)
    assert len(json.loads(prof("tree", file, "--json").stdout)["nodes"]) == 20001


def test_calls_that_found_no_room_are_said(tmp_path: Path) -> None:
    w = Writer(program("-no-pie"))
    w.call(w.root(), "leaf", "main+9", 3)
    w.call(w.root("rest", index=0), "leaf", "middle+8", 4)
    file = w.save(tmp_path / "p")
    result = prof("tree", file)
    assert "calls that found no room in their trees" in result.stdout
    assert "4 calls are known by function and call site only" in result.stderr
    assert shares(file)["leaf"][2] == 7
    assert "1 main; 2 trees" in prof("stat", file).stdout
    assert len(lines("tree", file, "--thread", "rest")) == 2


def test_profile_without_samples_goes_by_calls(tmp_path: Path) -> None:
    w = Writer(program("-no-pie"), rate=0)
    root = w.root()
    w.call(root, "leaf", "main+9", 3)
    w.call(root, "plain", "main+9", 5)
    file = w.save(tmp_path / "p")
    assert lines("tree", file)[1] == "  plain (calls.c:38) - 5 calls"
    assert lines("flat", file)[1].split()[6] == "plain"
    assert [line.split()[5] for line in lines("path", file)[1:]] == ["main", "plain"]


INLINED = """\
volatile int sink;
static inline __attribute__((always_inline)) void inner(int n)
{
    for (int i = 0; i < n; i++)
        sink += i * n;
}
static inline __attribute__((always_inline)) void between(int n)
{
    inner(n);
    sink--;
}
void outer(int n) { sink++; between(n); sink += 3; }
int main(void) { outer(3); return 0; }
"""


@pytest.mark.parametrize("version", ["-gdwarf-4", "-gdwarf-5"])
@pytest.mark.parametrize("level", ["-O1", "-O2"])
def test_inlined_functions_are_distinguished_when_asked(
    tmp_path: Path, version: str, level: str
) -> None:
    binary = program("-no-pie", version, level, text=INLINED)
    w = Writer(binary)
    root = w.root()
    for offset in range(w.size["outer"]):
        w.sample(root, f"outer+{offset}", 1)
    file = w.save(tmp_path / "p.prof")
    size = w.size["outer"]
    assert shares(file) == {"outer": (size, size, 0)}
    found = shares(file, inlines=True)
    own = {name: row[0] for name, row in found.items()}
    assert sum(own.values()) == size
    assert min(own.values()) > 0
    assert found["outer"][1] == size
    assert found["between"][1] == own["between"] + own["inner"]
    below = lines("tree", file, "--inlines", "-u", "inner")
    assert [line.split()[0] for line in below] == ["main", "outer", "between", "inner"]
    output = tmp_path / "p.pb.gz"
    assert prof("pprof", file, "-o", output, "--inlines").exit_code == 0
    message = CLASSES["Profile"]()
    message.ParseFromString(gzip.decompress(output.read_bytes()))
    names = {one.id: message.string_table[one.name] for one in message.function}
    stacks = {tuple(names[line.function_id] for line in one.line) for one in message.location}
    assert stacks == {("outer",), ("between", "outer"), ("inner", "between", "outer")}
    where = {line.line for one in message.location for line in one.line}
    assert where >= {5, 9, 10, 12}
