# SPDX-License-Identifier: MIT
"""Profiles of waits: by place, by lock, as trees, for pprof and flame graphs."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from profiles import Writer, example, needs_cc, prof, program, tree, waiting
from test_command import needs_library
from test_prof_programs import linked, record

from pirn_tools.prof.model import Node, Selection
from pirn_tools.prof.pprof import CLASSES

pytestmark = needs_cc
BIAS = 0x5555_5555_0000


@pytest.fixture(params=["-no-pie", "-pie"])
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    binary = program(request.param)
    return waiting(binary, 0 if request.param == "-no-pie" else BIAS).save(tmp_path / "p.prof")


def done(*arguments: object) -> str:
    result = prof(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def read(*arguments: object) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(done(*arguments, "--json"))
    return found


def test_waits_are_summed_by_what_and_where(file: Path) -> None:
    rows = read("waits", file)["waits"]
    assert [(row["for"], row["waited_ns"] + row["ready_ns"]) for row in rows] == [
        ("mutex sink", 800_000_000),
        ("sleep", 500_000_000),
        ("mutex sink", 200_000_000),
        ("sem", 100_000_000),
        ("yield", 50_000_000),
    ]
    assert [row["in"].split(" ")[0] for row in rows[:3]] == ["middle", "worker", "main"]
    text = done("waits", file)
    assert "share %" in text
    assert "48.48" in text  # 800 of 1,650 ms
    assert len(done("waits", file, "--most", "2").splitlines()) == 3


def test_locks_have_names_and_who_released_them(file: Path) -> None:
    (lock,) = read("locks", file)["locks"]
    assert (lock["kind"], lock["name"], lock["times"]) == ("mutex", "sink", 10)
    assert lock["waited_ns"] == 1_000_000_000
    assert [one["times"] for one in lock["waits"]] == [8, 2]
    assert [one["stack"][0] for one in lock["waits"]] == ["leaf", "middle"]
    assert [one["waited_ns"] for one in lock["releases"]] == [800_000_000, 200_000_000]
    every = read("locks", file, "--all")["locks"]
    assert [(one["kind"], one["name"], one["address"]) for one in every[1:]] == [
        ("sem", "", "0x7f0000001000")
    ]
    text = done("locks", file, "--stacks")
    assert "waited here 8 times, 80.00% of the time" in text
    assert "released here 8 times, 80.00% of the time" in text


def test_readers_and_writers_wait_for_one_lock(tmp_path: Path) -> None:
    w = waiting(program("-no-pie"))
    for reason in ("rdlock", "wrlock"):
        w.wait(1, reason, 0x7F0000002000, "leaf+2", 3, 30)
    locks = read("locks", w.save(tmp_path / "p"))["locks"]
    assert [(lock["kind"], lock["times"]) for lock in locks] == [("mutex", 10), ("rwlock", 6)]


def test_threads_can_be_chosen(file: Path) -> None:
    rows = read("waits", file, "--thread", "main")["waits"]
    assert [(row["for"], row["times"]) for row in rows] == [("mutex sink", 2)]
    (lock,) = read("locks", file, "--thread", "first")["locks"]
    assert lock["times"] == 8


def by_name(nodes: list[Node]) -> Counter[str]:
    found: Counter[str] = Counter()
    for node in nodes:
        found[node.name] += node.own
    return found


def test_tree_of_waits_has_what_was_waited_for_at_its_ends(file: Path) -> None:
    made = tree(file, Selection(of="waits"))
    assert made.total == 1_650_000_000
    own = by_name(made.nodes)
    assert {name: ns for name, ns in own.items() if ns} == {
        "[mutex sink]": 1_000_000_000,
        "[sleep]": 200_000_000,
        "[ready]": 300_000_000,
        "[sem]": 100_000_000,
        "[yield]": 50_000_000,
    }
    text = done("tree", file, "--of", "waits")
    assert "[mutex sink] - 48.48% (800 ms) - 48.48% (800 ms) - 8 times" in text
    assert "[sleep] - 12.12% (200 ms)" in text
    locks = tree(file, Selection(of="locks"))
    assert locks.total == 1_000_000_000
    releases = tree(file, Selection(of="releases"))
    (first, second) = releases.roots
    assert [(root.label, root.total) for root in (first, second)] == [
        ("main thread", 800_000_000),
        ("threads of worker (2)", 200_000_000),
    ]


def test_tree_of_samples_has_nothing_of_waits(file: Path) -> None:
    made = tree(file)
    assert made.total == 7
    assert {node.name for node in made.nodes if node.total} == {"main thread", "main", "middle"}
    assert all(node.total for node in made.nodes if node.kind == "code")


def test_runtime_is_left_out_further_in(tmp_path: Path) -> None:
    """Of frames in libpirn the outermost is shown: the function that the program called."""
    library = tmp_path / "libpirn-test.so"
    library.write_bytes(program("-shared", "-fPIC").read_bytes())
    own, inner = Writer(program("-no-pie")), Writer(library, BIAS)
    own.lines += [line for line in inner.lines if line.startswith("map")]
    own.lines.append("meta\twaits\t1")
    node = own.node(own.root("main", "main"), "frame", "main+9")
    for function in ("worker+9", "middle+8"):
        node = own.node(node, "frame", inner.at(function))
    own.wait(node, "mutex", 0, inner.at("leaf+2"), 1, 1000)
    made = tree(own.save(tmp_path / "p"), Selection(of="waits"))
    way, at = [], made.roots[0]
    while at.children:
        (at,) = at.children.values()
        way.append(at.name)
    assert way == ["main", "worker", "[mutex]"]


def test_flat_and_path_and_graph_have_times(file: Path, tmp_path: Path) -> None:
    head = done("flat", file, "--of", "waits").splitlines()[0]
    assert head.split("  ")[0] == "own %"
    assert "times" in head
    assert "[mutex sink]" in done("path", file, "--of", "waits")
    done("graph", file, "--of", "waits", "-o", tmp_path / "g.dot")
    assert "800 ms" in (tmp_path / "g.dot").read_text() or "1 s" in (tmp_path / "g.dot").read_text()
    same = done("diff", file, file, "--of", "locks")
    assert "+0.00" in same


def test_flame_graph_of_waits(file: Path, tmp_path: Path) -> None:
    done("flame", file, "--of", "waits", "-o", tmp_path / "f.svg")
    text = (tmp_path / "f.svg").read_text()
    assert "[mutex sink] - 0.800000 s (48.48%)" in text
    assert "violet: waits" in text
    done("flame", file, "-o", tmp_path / "s.svg")
    assert "violet" not in (tmp_path / "s.svg").read_text()


def test_folded_stacks_are_whole(file: Path, tmp_path: Path) -> None:
    done("flame", file, "--of", "waits", "-o", tmp_path / "f.folded")
    lines = (tmp_path / "f.folded").read_text().splitlines()
    numbers = {line.rpartition(" ")[0]: int(line.rpartition(" ")[2]) for line in lines}
    assert sum(numbers.values()) == 1_650_000
    assert numbers["threads of worker (2);worker;middle;leaf;[mutex sink]"] == 800_000
    samples = example(program("-no-pie")).save(tmp_path / "s.prof")
    done("flame", samples, "-o", tmp_path / "s.folded")
    lines = (tmp_path / "s.folded").read_text().splitlines()
    assert sum(int(line.rpartition(" ")[2]) for line in lines) == 100


def test_pprof_has_contentions_and_delays(file: Path, tmp_path: Path) -> None:
    done("pprof", file, "--of", "locks", "-o", tmp_path / "p.pb.gz")
    message = CLASSES["Profile"].FromString(gzip.decompress((tmp_path / "p.pb.gz").read_bytes()))
    words = message.string_table
    kinds = [(words[one.type], words[one.unit]) for one in message.sample_type]
    assert kinds == [("contentions", "count"), ("delay", "nanoseconds")]
    assert words[message.default_sample_type] == "delay"
    assert sorted(list(one.value) for one in message.sample) == [[2, 200_000_000], [8, 800_000_000]]
    names = {
        one.id: words[message.function[one.line[0].function_id - 1].name]
        for one in message.location
    }
    heavy = max(message.sample, key=lambda one: one.value[1])
    assert [names[one] for one in heavy.location_id] == ["[mutex sink]", "leaf", "middle", "worker"]


def test_profile_without_waits_says_how_to_get_some(tmp_path: Path) -> None:
    file = example(program("-no-pie")).save(tmp_path / "p.prof")
    for words in (("waits",), ("locks",), ("tree", "--of", "waits")):
        result = prof(words[0], file, *words[1:])
        assert result.exit_code == 2
        assert "has no waits; pirn prof record --waits records them" in result.output
    result = prof("tree", waiting(program("-no-pie")).save(file), "--of", "waits", "--cpu", "0")
    assert result.exit_code == 2
    assert "--cpu 0: waits belong to no CPU" in result.output


PROGRAM = """\
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <unistd.h>

static pthread_mutex_t busy = PTHREAD_MUTEX_INITIALIZER;
static sem_t done;
static volatile int arrived;

__attribute__((noinline)) void waits_for_busy(void)
{
    arrived++;
    pthread_mutex_lock(&busy);
    pthread_mutex_unlock(&busy);
    arrived--;
}

void *worker(void *arg)
{
    waits_for_busy();
    usleep(1000);
    sem_post(&done);
    return arg;
}

__attribute__((noinline)) void holds_busy(void)
{
    pthread_mutex_lock(&busy);
    while (arrived < 4)
        sched_yield();
    pthread_mutex_unlock(&busy);
    arrived += 4;
}

int main(void)
{
    pthread_t t[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&t[i], NULL, worker, NULL);
    holds_busy();
    for (int i = 0; i < 4; i++)
        sem_wait(&done);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
    return 0;
}
"""


@needs_library
def test_waits_of_a_real_program(tmp_path: Path) -> None:
    """On one CPU without ticks it is known how often its threads wait."""
    binary = linked("-O2", "-fno-optimize-sibling-calls", text=PROGRAM)
    words = ("--waits", "--wait-ns", 1, "--cpus", 1, "--preempt", 0)
    file = record(tmp_path, *words, "--", binary)
    (lock,) = read("locks", file)["locks"]
    assert (lock["name"], lock["times"]) == ("busy", 4)
    assert [one["times"] for one in lock["waits"]] == [4]
    assert any(name.startswith("waits_for_busy (") for name in lock["waits"][0]["stack"])
    released = {name.split(" ")[0] for one in lock["releases"] for name in one["stack"]}
    assert {"holds_busy", "waits_for_busy"} <= released
    assert sum(one["times"] for one in lock["releases"]) == 4
    rows = {row["for"]: row for row in read("waits", file)["waits"]}
    assert rows["sleep"]["times"] == 4
    assert rows["sleep"]["in"].startswith("worker (")
    assert rows["sem done"]["in"].startswith("main (")
    assert rows["yield"]["in"].startswith("holds_busy (")
