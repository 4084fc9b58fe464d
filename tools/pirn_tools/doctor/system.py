# SPDX-License-Identifier: MIT
"""The machine: kernel, processor, containers, limits, and what the tools may do to look at a
program."""

from __future__ import annotations

import math
import os
import platform
import re
import resource
from pathlib import Path

from pirn_tools.binary.target import OWN_MACHINE
from pirn_tools.doctor.findings import Finding, State
from pirn_tools.doctor.runtime import Runtime

MACHINE, LIMITS, TOOLS = "Machine", "Limits", "Tools"
FEW_TASKS = 64  # kernel threads beside the workers: one for each call that blocks in the kernel
FEW_SIGNALS = 64
FEW_STACKS = 10_000
GUARDED = 2  # mappings of a stack with a guard of its own
CONTAINERS = (
    ("docker", "Docker"),
    ("kubepods", "Kubernetes"),
    ("lxc", "LXC"),
    ("libpod", "Podman"),
)


def text_of(path: str | Path) -> str:
    """A file of /proc or /sys in one string; empty: there is none, or it cannot be read."""
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def number_of(path: str | Path) -> int | None:
    """The number in such a file; None: there is none ("max")."""
    text = text_of(path)
    return int(text) if re.fullmatch(r"-?\d+", text) else None


def findings(runtime: Runtime) -> list[Finding]:
    """All of this module."""
    return [
        _processor(),
        _kernel(),
        _libc(runtime),
        _keys(),
        _seccomp(runtime),
        _container(),
        _quota(runtime),
        _mappings(runtime),
        _tasks(runtime),
        _signals(),
        _stack(),
        _memory(),
        _overcommit(),
        _huge_pages(),
        _ptrace(),
        _perf(),
    ]


def _processor() -> Finding:
    machine = platform.machine()
    usable = len(os.sched_getaffinity(0))
    value = f"{machine}, {usable} of {os.cpu_count()} CPUs may be used"
    if machine == "x86_64":
        return Finding(MACHINE, "processor", State.OK, value)
    if machine in OWN_MACHINE:
        why = "Threads share storage, and are not preempted; a blocking call holds its CPU."
        return Finding(
            MACHINE, "processor", State.LIMITED, value, why, "All of it works on x86-64."
        )
    why = "Pirn has no port for it."
    return Finding(MACHINE, "processor", State.MISSING, value, why, "Use x86-64, AArch64, RISC-V.")


def _kernel() -> Finding:
    """A row for people: what depends on the version is a row of the runtime's."""
    return Finding(MACHINE, "kernel", State.OK, f"{platform.system()} {platform.release()}")


def _libc(runtime: Runtime) -> Finding:
    name, version = runtime.feature("libc")
    if name:
        state, why = runtime.feature("tls")
        known = state != "shared"
        advice = "See docs/STATUS.md for the versions that are known."
        mark = State.OK if known else State.LIMITED
        return Finding(MACHINE, "C library", mark, f"{name} {version}", why, advice)
    own = os.confstr("CS_GNU_LIBC_VERSION") if "CS_GNU_LIBC_VERSION" in os.confstr_names else None
    if own:
        return Finding(MACHINE, "C library", State.OK, own)
    why = "Pirn is preloaded into programs of glibc."
    advice = "Run the program in a container with glibc."
    return Finding(MACHINE, "C library", State.MISSING, "not glibc", why, advice)


def _keys() -> Finding:
    """Protection keys: nothing is lost without them."""
    flags = re.search(r"^flags\s*:(.*)$", text_of("/proc/cpuinfo"), re.MULTILINE)
    has = flags is not None and "ospke" in flags[1].split()
    text = "each thread has rights of its own" if has else "none here; programs do without"
    return Finding(MACHINE, "protection keys", State.OK, text)


def _status(name: str) -> str:
    found = re.search(rf"^{name}:\s*(\S+)", text_of("/proc/self/status"), re.MULTILINE)
    return found[1] if found else ""


def _seccomp(runtime: Runtime) -> Finding:
    mode = _status("Seccomp")
    words = {"": "not known: /proc cannot be read", "0": "off", "1": "strict", "2": "a filter"}
    value = words.get(mode, mode)
    refused = [
        call
        for feature, bad, call in (
            ("fences", "instructions", "membarrier"),
            ("redirect", "no", "membarrier (SYNC_CORE)"),
        )
        if runtime.feature(feature)[0] == bad
    ]
    if mode == "2" and refused:
        why = f"It may be what refuses {', '.join(refused)}."
        advice = "Allow these calls in the profile."
        return Finding(MACHINE, "seccomp", State.LIMITED, value, why, advice)
    if mode == "2" and runtime.raw:
        value += ", which lets through what the runtime calls at its start"
    return Finding(MACHINE, "seccomp", State.OK, value)


def _container() -> Finding:
    named = os.environ.get("container", "")  # noqa: SIM112, so systemd spells it
    groups = text_of("/proc/self/cgroup") + text_of("/proc/1/cgroup")
    kind = next((name for part, name in CONTAINERS if part in groups), named)
    if Path("/.dockerenv").exists():
        kind = kind or "Docker"
    elif Path("/run/.containerenv").exists():
        kind = kind or "Podman"
    elif os.environ.get("KUBERNETES_SERVICE_HOST"):
        kind = kind or "Kubernetes"
    return Finding(MACHINE, "container", State.OK, kind or "none that is known")


# ---- cgroups ----


def groups(name: str, v1: str, root: Path = Path("/sys/fs/cgroup")) -> list[Path]:
    """The files of that name of our cgroup and those above it: version 2, then 1."""
    found: list[Path] = []
    for line in text_of("/proc/self/cgroup").splitlines():
        number, controllers, path = (*line.split(":", 2), "", "")[:3]
        base, file = (root, name) if number == "0" else (root / controllers, v1)
        if number != "0" and v1.split(".")[0] not in controllers.split(","):
            continue
        folder = base / path.lstrip("/")
        found += [one / file for one in (folder, *folder.parents) if one.is_relative_to(base)]
    return [one for one in found if one.exists()]


def quota() -> float | None:
    """CPUs' worth of time that the tightest cgroup allows; None: no limit."""
    least: list[float] = []
    for file in groups("cpu.max", "cpu.cfs_quota_us"):
        if file.name == "cpu.max":
            words = text_of(file).split()
            if len(words) == 2 and words[0].isdigit() and int(words[1]):
                least.append(int(words[0]) / int(words[1]))
        else:
            allowed, period = number_of(file), number_of(file.with_name("cpu.cfs_period_us"))
            if allowed is not None and period and allowed > 0:
                least.append(allowed / period)
    return min(least, default=None)


def _quota(runtime: Runtime) -> Finding:
    allowed = quota()
    if allowed is None:
        return Finding(LIMITS, "CPU time", State.OK, "no cgroup limits it")
    value = f"a cgroup allows {allowed:g} CPUs; {runtime.workers} workers"
    if runtime.workers <= max(1, math.ceil(allowed)):
        return Finding(LIMITS, "CPU time", State.OK, value)
    why = "With more workers than that the kernel stops all of them for parts of each period."
    advice = f"--cpus {max(1, math.ceil(allowed))}, or PIRN_CPUS."
    return Finding(LIMITS, "CPU time", State.LIMITED, value, why, advice)


# ---- limits ----


def _mappings(runtime: Runtime) -> Finding:
    most = number_of("/proc/sys/vm/max_map_count")
    if most is None:
        return Finding(LIMITS, "mappings", State.OK, "vm.max_map_count cannot be read")
    value = f"vm.max_map_count {most:,}"
    if runtime.feature("guards")[0] != "mappings":
        return Finding(LIMITS, "mappings", State.OK, f"{value}; stacks need none of their own")
    threads = most // GUARDED
    state = State.OK if threads >= 10 * FEW_STACKS else State.LIMITED
    why = f"There can be about {threads:,} threads at a time."
    advice = "sysctl -w vm.max_map_count=1048576, or Linux 6.13."
    return Finding(LIMITS, "mappings", state, value, why, advice)


def _limit(number: int) -> str:
    return "unlimited" if number == resource.RLIM_INFINITY else f"{number:,}"


def _tasks(runtime: Runtime) -> Finding:
    """Kernel threads: of the user, and of the cgroup."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NPROC)
    value = f"ulimit -u {_limit(soft)}"
    room: list[int] = []
    if soft != resource.RLIM_INFINITY and os.getuid() != 0:
        room.append(soft - _own_tasks())
    for file in groups("pids.max", "pids.max"):
        most, now = number_of(file), number_of(file.with_name("pids.current"))
        if most is not None and now is not None:
            value += f"; a cgroup allows {most:,}, of which {now:,} are used"
            room.append(most - now)
    least = min(room, default=None)
    if least is None or least >= runtime.workers + FEW_TASKS:
        return Finding(LIMITS, "kernel threads", State.OK, value)
    why = (
        f"There is room for {max(0, least)}: threads that wait in calls such as waitpid or flock "
        "need one each, and keep their worker without."
    )
    advice = "Raise ulimit -u, or pids.max of the container (docker run --pids-limit)."
    state = State.LIMITED if least > runtime.workers + 3 else State.MISSING
    return Finding(LIMITS, "kernel threads", state, value, why, advice)


def _own_tasks() -> int:
    """Kernel threads of this user's processes, as far as /proc shows them."""
    count = 0
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if entry.stat().st_uid == os.getuid():
                    count += len(list((entry / "task").iterdir()))
            except OSError:
                continue  # it has ended
    return count


def _signals() -> Finding:
    soft, _ = resource.getrlimit(resource.RLIMIT_SIGPENDING)
    used = _status("SigQ").split("/")[0]
    value = f"ulimit -i {_limit(soft)}, of which {used or 'an unknown number'} are used"
    enough = soft == resource.RLIM_INFINITY or soft - int(used or 0) >= FEW_SIGNALS
    why = "Each worker needs a timer for preemption, which counts as one."
    advice = "ulimit -i unlimited, or a larger limit."
    state = State.OK if enough else State.LIMITED
    return Finding(LIMITS, "queued signals", state, value, why, advice)


def _stack() -> Finding:
    soft, _ = resource.getrlimit(resource.RLIMIT_STACK)
    if soft == resource.RLIM_INFINITY:
        return Finding(LIMITS, "stacks", State.OK, "ulimit -s unlimited: the library's own default")
    value = f"ulimit -s {soft >> 10:,} KiB: the stack of a thread that asks for no size"
    if soft >= 1 << 18:
        return Finding(LIMITS, "stacks", State.OK, value)
    why = "Library functions such as getaddrinfo need more."
    return Finding(LIMITS, "stacks", State.LIMITED, value, why, "ulimit -s 8192, or --stack 8M.")


def _memory() -> Finding:
    limits = {"-v": resource.RLIMIT_AS, "-d": resource.RLIMIT_DATA}
    now = {name: resource.getrlimit(which)[0] for name, which in limits.items()}
    tight = {name: n for name, n in now.items() if n != resource.RLIM_INFINITY}
    if not tight:
        return Finding(LIMITS, "address space", State.OK, "unlimited")
    value = ", ".join(f"ulimit {name} {n >> 10:,} KiB" for name, n in tight.items())
    why = "Stacks are reserved at their full size, so few threads use such a limit up."
    return Finding(
        LIMITS, "address space", State.LIMITED, value, why, "Smaller stacks: --stack 256K."
    )


def _overcommit() -> Finding:
    mode = number_of("/proc/sys/vm/overcommit_memory")
    if mode != 2:
        words = {0: "as the kernel estimates", 1: "always"}
        value = words.get(mode if mode is not None else -1, "not known")
        return Finding(LIMITS, "overcommit", State.OK, f"{value} (vm.overcommit_memory)")
    why = "Reserved stacks count as used memory: threads with large stacks are refused early."
    advice = "Smaller stacks (--stack 256K), or sysctl -w vm.overcommit_memory=0."
    return Finding(
        LIMITS, "overcommit", State.LIMITED, "never (vm.overcommit_memory 2)", why, advice
    )


def _huge_pages() -> Finding:
    text = text_of("/sys/kernel/mm/transparent_hugepage/enabled")
    found = re.search(r"\[(\w+)\]", text)
    value = found[1] if found else "this kernel has none"
    if value == "always":
        value += "; the runtime asks for none in its stacks"
    return Finding(LIMITS, "huge pages", State.OK, value)


# ---- tools ----


def _capable(bit: int) -> bool:
    mask = _status("CapEff")
    return bool(mask) and bool(int(mask, 16) >> bit & 1)


CAP_SYS_PTRACE, CAP_PERFMON, CAP_SYS_ADMIN = 19, 38, 21


def _ptrace() -> Finding:
    scope = number_of("/proc/sys/kernel/yama/ptrace_scope") or 0
    allowed = _capable(CAP_SYS_PTRACE)
    name = "look at programs"
    if scope == 0 or (allowed and scope < 3):
        value = "pirn ps, dump, top: programs of " + ("all users" if allowed else "this user")
        return Finding(TOOLS, name, State.OK, value)
    value = f"kernel.yama.ptrace_scope {scope}"
    if scope == 3:
        why, advice = "No program may be looked at.", "It stays so until the machine restarts."
        return Finding(TOOLS, name, State.MISSING, value, why, advice)
    why = "pirn ps, dump and top see only their own children, or need CAP_SYS_PTRACE."
    advice = "sudo pirn top PID, or sysctl -w kernel.yama.ptrace_scope=0."
    return Finding(TOOLS, name, State.LIMITED, value, why, advice)


def _perf() -> Finding:
    level = number_of("/proc/sys/kernel/perf_event_paranoid")
    name = "cache misses"
    if level is None:
        why = "Policies that measure cache misses cannot. The profiler needs no counters."
        value = "this kernel has no perf_event_open"
        return Finding(TOOLS, name, State.LIMITED, value, why, "Nothing, unless you use them.")
    value = f"kernel.perf_event_paranoid {level}"
    if level <= 2 or _capable(CAP_PERFMON) or _capable(CAP_SYS_ADMIN):
        return Finding(TOOLS, name, State.OK, value)
    why = "Policies that measure cache misses cannot. The profiler needs no counters."
    advice = "sysctl -w kernel.perf_event_paranoid=2."
    return Finding(TOOLS, name, State.LIMITED, value, why, advice)
