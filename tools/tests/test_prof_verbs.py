# SPDX-License-Identifier: MIT
"""`pirn prof graph`, `annotate`, `gprof`, `pprof`, `stat`, `diff`, and what others make of them."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import stat as modes
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.empty_pb2 import Empty
from google.protobuf.unknown_fields import UnknownFieldSet
from PIL import Image
from profiles import SOURCE, Writer, example, needs_cc, prof, program

from pirn_tools.prof.pprof import CLASSES

pytestmark = needs_cc
BIAS = 0x5555_5555_0000
needs_gprof = pytest.mark.skipif(shutil.which("gprof") is None, reason="no gprof")
needs_go = pytest.mark.skipif(shutil.which("go") is None, reason="no go, which brings pprof")


@pytest.fixture(params=["-no-pie", "-pie"])
def binary(request: pytest.FixtureRequest) -> Path:
    return program(request.param)


@pytest.fixture
def file(binary: Path, tmp_path: Path) -> Path:
    bias = 0 if binary == program("-no-pie") else BIAS
    return example(binary, bias).save(tmp_path / "p.prof")


def done(*arguments: object) -> str:
    """The standard output."""
    result = prof(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def graph(file: Path, *words: object) -> str:
    output = file.with_suffix(".dot")
    done("graph", file, "-o", output, *words)
    return output.read_text()


def test_graph_has_a_node_for_each_function(file: Path) -> None:
    text = graph(file)
    labels = re.findall(r'^  n(\d+) \[label="([^"]*)"', text, re.MULTILINE)
    assert len(labels) == 10  # 7 functions, 3 roots
    numbers = {label.split("\\n")[0]: number for number, label in labels}
    found = dict(labels)
    assert found[numbers["leaf"]] == "leaf\\n48.00% (48)\\nown 48.00% (48)"
    assert found[numbers["again"]] == "again\\n20.00% (20)\\nown 20.00% (20)"
    edges = dict(re.findall(r'(n\d+ -> n\d+) \[label="([^"]*)"', text))
    middle, leaf, again = (f"n{numbers[name]}" for name in ("middle", "leaf", "again"))
    assert edges[f"{middle} -> {leaf}"] == "2 sites\\n6x"
    assert edges[f"{again} -> {again}"] == "1 site\\n54x"
    assert edges[f"{middle} -> n{numbers['plain']}"] == ""


def test_graph_is_pruned_and_marks_what_was_asked_for(file: Path) -> None:
    text = graph(file, "-u", "again", "--depth", "0")
    assert "leaf" not in text
    assert re.search(r'label="again[^"]*"[^;]*color="#c0272d"', text)
    assert "main" not in text


def test_graph_needs_graphviz_for_pictures(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    result = prof("graph", file, "-o", tmp_path / "g.svg")
    assert result.exit_code == 1
    assert "of the package graphviz (tools/setup --group graphs); g.dot can be" in result.output
    dot = tmp_path / "dot"
    dot.write_text('#!/bin/sh\n[ "$1" = -Tsvg ] && /bin/cat > "$3"\n')
    dot.chmod(modes.S_IRWXU)
    done("graph", file, "-o", tmp_path / "g.svg")
    assert (tmp_path / "g.svg").read_text().startswith("digraph")
    dot.write_text("#!/bin/sh\necho no such layout >&2\nexit 3\n")
    result = prof("graph", file, "-o", tmp_path / "g.svg")
    assert result.exit_code == 1
    assert "no such layout" in result.output
    assert prof("graph", file, "-o", tmp_path / "g.bmp").exit_code == 2


@pytest.mark.skipif(shutil.which("dot") is None, reason="no Graphviz")
def test_graphviz_draws_it(file: Path, tmp_path: Path) -> None:
    done("graph", file, "-o", tmp_path / "g.svg")
    assert "again" in (tmp_path / "g.svg").read_text()


def test_annotated_lines_have_samples_and_calls(file: Path) -> None:
    found = json.loads(done("annotate", file, "--json"))
    assert found["without_lines"] == 15
    (source,) = found["files"]
    by_line = {one["line"]: (one["samples"], one["calls"]) for one in source["lines"]}
    text = SOURCE.splitlines()
    at = {line.strip(): number for number, line in enumerate(text, 1)}
    assert by_line[at["return again(n - 1) + sink;"]][1] == 54
    assert by_line[at["again(9);"]][1] == 6
    assert by_line[at["leaf(n);"]][1] == 5
    assert source["samples"] == 85
    lines = done("annotate", file).splitlines()
    assert any(re.search(r" 54x +\d+ +return again\(n - 1\)", line) for line in lines)
    assert lines[-1] == "15 samples (15.00%) are in code without lines"


def test_annotated_function_is_shown_whole(file: Path) -> None:
    lines = done("annotate", file, "--function", "middle").splitlines()
    code = [line for line in lines if line.rstrip().endswith(("{", "}", ";", ")"))]
    assert "middle(int n)" in code[0]
    assert code[-1].endswith("}")
    assert len(code) == 7
    assert not any("again" in line for line in lines)


def test_missing_source_and_debug_information_are_said(file: Path, tmp_path: Path) -> None:
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    binary = program("-no-pie", "-DMOVED")
    source = binary.with_suffix(".c")
    example(binary).save(file)
    text = source.read_text()
    source.rename(moved / source.name)
    try:
        result = prof("annotate", file)
        assert f"{source} is not there; --source FOLDER" in result.stderr
        assert "54x" in result.stdout
        assert "return again(n - 1)" in done("annotate", file, "--source", moved)
    finally:
        source.write_text(text)
    example(program("-no-pie", "-g0")).save(file)
    result = prof("annotate", file)
    assert result.exit_code == 1
    assert "none of its code has lines; build the program with -g" in result.output
    result = prof("annotate", file, "--function", "midle")
    assert result.exit_code == 1


def gprof_tables(binary: Path, gmon: Path, *words: str) -> tuple[dict[str, list[str]], str]:
    """The rows of gprof's flat profile by function, and all that it said."""
    command = ["gprof", "-b", *words, str(binary), str(gmon)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rows: dict[str, list[str]] = {}
    for line in text.partition("Call graph")[0].splitlines():
        words_of = line.split()
        if len(words_of) >= 4 and re.match(r"[0-9]", words_of[0]):
            rows[words_of[-1]] = words_of
    return rows, text


@needs_gprof
def test_gprof_prints_the_same(binary: Path, file: Path, tmp_path: Path) -> None:
    gmon = tmp_path / "gmon.out"
    done("gprof", file, "-o", gmon)
    rows, text = gprof_tables(binary, gmon)
    seconds = {name: float(row[2]) for name, row in rows.items()}
    assert seconds == pytest.approx(
        {"leaf": 0.48, "again": 0.2, "middle": 0.1, "plain": 0.05, "worker": 0.02}
    )
    assert {name: int(row[3]) for name, row in rows.items() if len(row) > 5} == {
        "leaf": 6,
        "again": 6,  # from elsewhere; those from itself are in the call graph
        "middle": 5,
    }
    assert re.search(r"6\+54 +again", text)
    assert re.search(r"4/5 +middle", text)


@needs_gprof
def test_gprof_reads_more_than_its_counts_hold(tmp_path: Path) -> None:
    binary = program("-no-pie")
    w = Writer(binary)
    node = w.call(w.root(), "main", 0)
    w.call(node, "leaf", "main+9", (1 << 32) + 5)
    w.sample(node, "leaf+4", 200_000)
    file = w.save(tmp_path / "p")
    done("gprof", file, "-o", tmp_path / "gmon.out")
    rows, _ = gprof_tables(binary, tmp_path / "gmon.out")
    assert float(rows["leaf"][2]) == pytest.approx(2000)
    assert int(rows["leaf"][3]) == (1 << 32) + 5


def test_gprof_refuses_what_would_fill_the_disk(tmp_path: Path) -> None:
    w = Writer(program("-no-pie"))
    node = w.call(w.root(), "main", 0, (1 << 64) - 1)
    file = w.save(tmp_path / "p")
    for text in ("18,446,744,073,709,551,615 calls", "18,446,744,073,709,551,615 samples"):
        result = prof("gprof", file, "-o", tmp_path / "gmon.out")
        assert result.exit_code == 1
        assert f"{text}" in result.output
        w.sample(node, "main+1", (1 << 64) - 1)
        w.save(file)


def test_gprof_of_one_thread_and_of_unknown_files(file: Path, tmp_path: Path) -> None:
    result = prof("gprof", file, "-o", tmp_path / "g", "--thread", "main")
    assert "35 samples and 4 calls of" in result.stderr
    result = prof("gprof", file, "-o", tmp_path / "g", "--object", "libnone.so")
    assert result.exit_code == 2
    assert 'no code of a file "libnone.so" in the profile' in result.output


@needs_gprof
def test_gprof_counts_inlined_calls_for_the_caller(tmp_path: Path) -> None:
    w = Writer(program("-no-pie"))
    main = w.call(w.root(), "main", 0)
    worker = w.call(main, "worker", "main+9")
    w.call(worker, "plain", "main+9", 7)  # inlined in worker
    done("gprof", w.save(tmp_path / "p"), "-o", tmp_path / "gmon.out")
    _, text = gprof_tables(program("-no-pie"), tmp_path / "gmon.out")
    graph = text.partition("Call graph")[2]
    block = next(
        part for part in graph.split("-" * 47) if re.search(r"^\[\d+\].*plain", part, re.M)
    )
    assert re.search(r"7/7 +worker", block)


def decoded(path: Path) -> Any:  # noqa: ANN401
    message = CLASSES["Profile"]()
    message.ParseFromString(gzip.decompress(path.read_bytes()))
    return message


def test_pprof_has_stacks_lines_and_labels(file: Path, tmp_path: Path) -> None:
    done("pprof", file, "-o", tmp_path / "p.pb.gz", "--merge", "none")
    message = decoded(tmp_path / "p.pb.gz")
    text = list(message.string_table)
    assert text[0] == ""
    kinds = [(text[one.type], text[one.unit]) for one in message.sample_type]
    assert kinds == [("calls", "count"), ("samples", "count"), ("cpu", "nanoseconds")]
    assert message.period == 10_000_000
    functions = {one.id: text[one.name] for one in message.function}
    locations = {one.id: one for one in message.location}
    names = {key: functions[one.line[0].function_id] for key, one in locations.items()}
    stacks: Counter[tuple[str, ...]] = Counter()
    for one in message.sample:
        stack = tuple(names[key] for key in one.location_id)
        labels = {text[label.key]: text[label.str] for label in one.label}
        assert "thread" in labels
        assert ("cpu" in labels) == (one.value[0] == 0)
        stacks[stack, labels["thread"], labels.get("cpu", "")] += one.value[0] or one.value[1]  # type: ignore[index]
        assert one.value[2] == one.value[1] * 10_000_000
    again = ("again", "again", "worker")
    assert stacks[again, 'thread 3.1 "first"', ""] == 27  # type: ignore[index]
    assert stacks[again, 'thread 3.1 "first"', "CPU 1"] == 4  # type: ignore[index]
    assert stacks[("plain", "middle", "main"), "main thread", "CPU 1"] == 5  # type: ignore[index]
    call = SOURCE.splitlines().index("    return again(n - 1) + sink;") + 1
    assert call in {one.line[0].line for one in message.location}
    (mapping,) = message.mapping
    assert all(
        mapping.memory_start <= one.address < mapping.memory_limit
        for one in message.location
        if one.mapping_id
    )


def fields(raw: bytes) -> dict[int, list[Any]]:
    """The values of a message by the numbers of their fields, without its description."""
    found: dict[int, list[Any]] = {}
    empty = Empty()
    empty.ParseFromString(raw)
    for one in UnknownFieldSet(empty):
        found.setdefault(one.field_number, []).append(one.data)
    return found


def test_pprof_has_the_published_numbers_of_fields(file: Path, tmp_path: Path) -> None:
    """profile.proto: read here by numbers, not by our own description of it."""
    done("pprof", file, "-o", tmp_path / "p.pb.gz")
    profile = fields(gzip.decompress((tmp_path / "p.pb.gz").read_bytes()))
    text = [one.decode() for one in profile[6]]
    values = [fields(one) for one in profile[1]]
    assert [text[one[1][0]] for one in values] == ["calls", "samples", "cpu"]
    assert [text[one[2][0]] for one in values] == ["count", "count", "nanoseconds"]
    assert profile[12] == [10_000_000]
    assert text[fields(profile[11][0])[1][0]] == text[profile[14][0]] == "cpu"
    functions = {fields(one)[1][0]: fields(one) for one in profile[5]}
    named = {text[one[2][0]] for one in functions.values()}
    assert {"main", "worker", "again", "middle", "leaf", "plain"} <= named
    assert all(text[one[4][0]].endswith(".c") for one in functions.values() if 4 in one)
    locations = {fields(one)[1][0]: fields(one) for one in profile[4]}
    lines = [fields(one[4][0]) for one in locations.values()]
    assert {one[1][0] for one in lines} == set(functions)
    assert any(SOURCE.splitlines()[one[2][0] - 1] == "    leaf(n);" for one in lines if 2 in one)
    mapping = fields(profile[3][0])
    (number,), (start,), (limit,) = mapping[1], mapping[2], mapping[3]
    assert all(start <= one[3][0] < limit for one in locations.values() if one.get(2) == [number])
    assert text[mapping[5][0]].startswith("/")
    assert mapping[7] == mapping[8] == mapping[9] == [1]
    labels = [fields(one) for sample in profile[2] for one in fields(sample)[3]]
    assert {text[one[1][0]] for one in labels} == {"thread", "cpu"}
    assert "CPU 1" in {text[one[2][0]] for one in labels}


@needs_go
def test_pprof_prints_the_same(file: Path, tmp_path: Path) -> None:
    done("pprof", file, "-o", tmp_path / "p.pb.gz")

    def top(*words: str) -> dict[str, list[str]]:
        command = ["go", "tool", "pprof", "-top", *words, str(tmp_path / "p.pb.gz")]
        environment = {**os.environ, "PPROF_TMPDIR": str(tmp_path)}
        text = subprocess.run(
            command, capture_output=True, text=True, check=True, env=environment
        ).stdout
        rows = [line.split() for line in text.partition("cum%\n")[2].splitlines()]
        return {row[5]: row[:5] for row in rows}

    cpu = top()
    assert cpu["leaf"][0] == "480ms"
    assert cpu["middle"][3] == "630ms"
    assert cpu["again"][3] == "200ms"
    calls = top("-sample_index=calls")
    assert {name: row[0] for name, row in calls.items()}["again"] == "60"
    assert top("-tagfocus=cpu=CPU 0")["leaf"][0] == "200ms"


def test_stat_prints_losses_and_distances(file: Path) -> None:
    lines = file.read_text().splitlines()[:-1]
    lines += ["count\tlost_calls\t7", "count\tstrays\t2"]
    lines += ["distance\t0\t90", "distance\t1\t8", "distance\t2\t2"]
    file.write_text("\n".join([*lines, f"end\t{len(lines)}"]) + "\n")
    text = done("stat", file)
    assert re.search(r"threads +1 main, 2 user, 1 idle; 4 trees", text)
    assert re.search(r"lost calls +7", text)
    assert "100, 90.00% found at once, mean distance 0.120" in text
    assert re.search(r"from 2 +2 \(2.000%\)", text)
    found = json.loads(done("stat", file, "--json"))
    assert found["calls"] == 74
    assert found["samples_by_cpu"] == {"0": 45, "1": 55}
    assert found["hit_rate"] == 0.9
    assert "7 calls are not in it" in prof("flat", file).stderr


def test_stat_draws_blocks(file: Path, tmp_path: Path) -> None:
    result = prof("stat", file, "--plot", tmp_path / "b.png")
    assert result.exit_code == 0, result.output
    assert "mean distance" in result.stdout
    with Image.open(tmp_path / "b.png") as picture:
        assert picture.width == 1650
    assert prof("stat", file, "--plot", tmp_path / "b.txt").exit_code == 2


def test_diff_puts_what_differs_most_first(tmp_path: Path) -> None:
    example(program("-no-pie")).save(tmp_path / "a")
    w = example(program("-no-pie", "-O2"))
    w.sample(3, "plain+1", 100)
    w.save(tmp_path / "b")
    names, *lines = done("diff", tmp_path / "a", tmp_path / "b").splitlines()
    assert names == "A: a, B: b"
    rows = [line.split() for line in lines]
    by_name = {row[-3]: row for row in rows[1:] if row[-1] == "program"}
    assert rows[1][-3] == "plain"
    assert by_name["plain"][:3] == ["5.00", "52.50", "+47.50"]
    assert by_name["again"][8:10] == ["60", "60"]
    found = json.loads(done("diff", tmp_path / "a", tmp_path / "b", "--json", "--most", "1"))
    assert found["functions"] == [
        {
            "name": "plain",
            "module": "the program",
            "own": [5, 105],
            "total": [5, 105],
            "calls": [None, None],
        }
    ]
