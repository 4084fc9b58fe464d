# SPDX-License-Identifier: MIT
from __future__ import annotations

import includes
import pytest
from conftest import Tree

HEADERS = dict.fromkeys(
    [
        "include/pirn/pirn.h",
        "src/core/atomic.h",
        "src/core/compiler.h",
        "src/core/thread.h",
        "src/sched/deque.h",
        "src/sched/policy.h",
        "src/sync/mutex.h",
        "src/posix/errno_map.h",
        "src/trace/trace.h",
        "port/port.h",
        "port/arch/x86_64/port_arch.h",
        "port/arch/aarch64/port_arch.h",
        "port/env/linux/worker.h",
        "port/env/sim/atomic_sim.h",
        "port/env/sim/sim.h",
    ],
    "",
)

GOOD = [
    ("src/core/run.c", '"thread.h"'),
    ("src/core/run.c", '"policy.h"'),
    ("src/core/run.c", '"port.h"'),
    ("src/core/run.c", '"trace.h"'),
    ("src/core/api.c", '"pirn/pirn.h"'),
    ("src/core/api.c", "<pirn/pirn.h>"),
    ("src/core/run.c", "<string.h>"),
    ("src/core/atomic.h", "<stdatomic.h>"),
    ("src/core/atomic.h", '"atomic_sim.h"'),
    ("src/sched/steal.c", '"deque.h"'),
    ("src/sched/steal.c", '"policy.h"'),
    ("src/sched/steal.c", '"core/thread.h"'),
    ("src/sync/mutex.c", '"thread.h"'),
    ("src/posix/posix_mutex.c", '"posix_mutex.h"'),
    ("src/native/pirn.c", '"mutex.h"'),
    ("src/native/pirn.c", '"pirn/pirn.h"'),
    ("src/posix/posix_mutex.c", '"errno_map.h"'),
    ("port/env/linux/idle.c", '"port.h"'),
    ("port/env/linux/idle.c", '"worker.h"'),
    ("port/env/linux/idle.c", '"compiler.h"'),
    ("port/env/sim/atomic_sim.h", "<stdatomic.h>"),
    ("port/port.h", '"port_arch.h"'),
    ("tests/unit/any.c", '"errno_map.h"'),
    ("src/core/run.c", '"generated_by_the_build.h"'),
]
BAD = [
    ("src/core/run.c", '"mutex.h"', "core may not include src/sync/mutex.h"),
    ("src/core/run.c", '"deque.h"', "core may not include src/sched/deque.h"),
    ("src/core/run.c", '"../posix/errno_map.h"', "posix"),
    ("src/core/run.c", '"worker.h"', "core may not include port/env/linux/worker.h"),
    ("src/core/run.c", "<stdatomic.h>", "only src/core/atomic.h"),
    ("src/sched/steal.c", '"port.h"', "sched may not include port/port.h"),
    ("src/sched/steal.c", '"mutex.h"', "sched may not include"),
    ("src/sync/mutex.c", '"policy.h"', "sync may not include src/sched/policy.h"),
    ("src/sync/mutex.c", '"errno_map.h"', "posix"),
    ("src/native/pirn.c", '"errno_map.h"', "posix"),
    ("src/posix/posix_mutex.c", '"policy.h"', "posix may not include"),
    ("src/trace/ring.c", '"mutex.h"', "trace may not include"),
    ("port/env/linux/idle.c", '"thread.h"', "port may not include src/core/thread.h"),
    ("port/env/linux/idle.c", '"sim.h"', "port may not include port/env/sim/sim.h"),
    ("port/env/linux/idle.c", "<stdatomic.h>", "only src/core/atomic.h"),
    ("port/port.h", '"thread.h"', "port.h may not include"),
]


@pytest.mark.parametrize(("includer", "name"), GOOD)
def test_includes_is_silent_when_downward(tree: Tree, includer: str, name: str) -> None:
    assert includes.check(*tree({**HEADERS, includer: f"#include {name}\n"})) == []


@pytest.mark.parametrize(("includer", "name", "text"), BAD)
def test_includes_complains_when_upward(tree: Tree, includer: str, name: str, text: str) -> None:
    problems = includes.check(*tree({**HEADERS, includer: f"\n  # include {name}\n"}))
    assert len(problems) == 1
    assert text in problems[0].text
    assert (problems[0].path, problems[0].line) == (includer, 2)


NAMED = [
    ("src/sync/mutex.c", "if (rt.policy.has_work(cpu)) {", "rt.policy"),
    ("src/sync/sync.h", "    return rt.policy.pinned; /* why */", "rt.policy"),
    ("src/trace/file.c", 'say(out, rt.policy.name, "/");', "rt.policy"),
    ("port/env/linux/idle.c", "rt.policy.pick(cpu);", "rt.policy"),
    ("src/sched/steal_preempt.c", "uint64_t now = port_now();", "sched asks core"),
    ("src/core/run.c", "next = rt.policy.search(cpu);", "the simulator must hear"),
]
UNNAMED = [
    ("src/core/handed.h", "rt.policy.pick(cpu);"),
    ("src/core/run.c", "rt.policy.idle_enter(cpu);"),
    ("src/sched/steal_preempt.c", "if (rt.policy.pinned) {"),
    ("src/sched/steal_preempt.c", "struct cpu *self = port_cpu_self();"),
    ("src/sched/steal_search.c", "uint64_t now = port_now();"),
    ("src/sync/mutex.c", "if (rt_has_work(cpu)) { /* not rt.policy */"),
    ("src/sync/mutex.c", " * rt.policy is core's"),
    ("port/env/sim/sim.c", "rt.policy.check();"),
]


@pytest.mark.parametrize(("path", "line", "text"), NAMED)
def test_includes_complains_when_a_name_is_others(
    tree: Tree, path: str, line: str, text: str
) -> None:
    problems = includes.check(*tree({path: f"\n{line}\n"}))
    assert [(p.path, p.line) for p in problems] == [(path, 2)]
    assert text in problems[0].text


@pytest.mark.parametrize(("path", "line"), UNNAMED)
def test_includes_is_silent_when_a_name_is_allowed(tree: Tree, path: str, line: str) -> None:
    assert includes.check(*tree({path: f"{line}\n"})) == []
