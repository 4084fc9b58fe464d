# SPDX-License-Identifier: MIT
"""`pirn doctor`: the command on this machine, and each finding with what causes it made up."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from elftools.elf.elffile import ELFFile

from pirn_tools.doctor import findings, program, runtime, system
from pirn_tools.doctor.findings import Finding, State
from pirn_tools.doctor.runtime import Runtime

BUILT = bool(os.environ.get("PIRN_LIBRARY"))
needs_library = pytest.mark.skipif(not BUILT, reason="PIRN_LIBRARY names no built library")
needs_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
MAIN = "int main(void) { return 0; }\n"


def doctor(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    rest = {name: value for name, value in os.environ.items() if name != "PIRN_CPUS"}
    return subprocess.run(
        [sys.executable, "-m", "pirn_tools", "doctor", *words],
        capture_output=True,
        text=True,
        check=False,
        env={**rest, **environment},
    )


def rows(*words: str, **environment: str) -> dict[str, dict[str, str]]:
    result = doctor("--json", *words, **environment)
    return {one["name"]: one for one in json.loads(result.stdout)["findings"]}


def compile_c(folder: Path, name: str, text: str, *flags: str) -> Path:
    (folder / "source.c").write_text(text)
    subprocess.run(["cc", "-o", folder / name, folder / "source.c", *flags], check=True)
    return folder / name


def reported(**features: str) -> Runtime:
    """As if the library had said so."""
    rest = [{"name": name, "state": state, "why": "a reason"} for name, state in features.items()]
    raw: dict[str, Any] = {"version": "1", "policy": "steal", "workers": 4, "features": rest}
    return Runtime(Path("/lib/x.so"), "", (), raw)


GOOD = {
    "tls": "instruction",
    "preempt": "yes",
    "calls": "yes",
    "redirect": "yes",
    "guards": "marks",
    "fences": "membarrier",
    "pagemap": "yes",
}


@needs_library
def test_report_says_what_the_library_does() -> None:
    found = rows(PIRN_TLS="own-syscall", PIRN_CPUS="3", PIRN_SCHED="dist")
    assert found["thread storage"]["state"] == "limited"
    assert "by a system call" in found["thread storage"]["value"]
    assert "policy dist, 3 workers" in found["library"]["value"]
    found = rows(PIRN_TLS="shared", PIRN_SPARES="0")
    assert "share" in found["thread storage"]["value"]
    assert found["preemption"]["state"] == "limited"
    assert found["blocking calls"]["state"] == "limited"
    assert found["blocking calls"]["do"]


@needs_library
def test_report_names_misspelt_options() -> None:
    found = rows(PIRN_CPSU="2")
    assert found["option"]["state"] == "limited"
    assert "did you mean PIRN_CPUS?" in found["option"]["value"]
    assert doctor(PIRN_CPSU="2").returncode == 1


@needs_library
def test_report_has_the_library_missing_when_it_cannot_be_loaded(tmp_path: Path) -> None:
    result = doctor(PIRN_LIBRARY=str(tmp_path / "libpirn.so.0"))
    assert result.returncode == 3
    assert "does not exist" in result.stdout
    assert result.stderr == ""


@needs_library
def test_report_is_plain_text_in_a_pipe_and_ends_with_a_count() -> None:
    result = doctor()
    assert "\x1b" not in result.stdout
    lines = result.stdout.splitlines()
    assert [line for line in lines if line and line[0].isalpha()] == [
        "Machine",
        "Runtime",
        "Limits",
        "Tools",
    ]
    assert all(len(line) <= 100 for line in lines)
    counts = [int(part.split()[0]) for part in lines[-1].split(", ")]
    assert result.returncode == (3 if counts[2] else 1 if counts[1] else 0)


@needs_library
@needs_cc
def test_program_is_judged_without_being_run(tmp_path: Path) -> None:
    text = '#include <stdio.h>\nint main(void) { fopen("ran", "w"); return 0; }\n'
    plain = compile_c(tmp_path, "plain", text, "-Wl,--no-as-needed", "-lpthread")
    found = rows(str(plain))
    assert "pirn run preloads" in found["how"]["value"]
    assert found["libraries"]["state"] == "ok"
    static = compile_c(tmp_path, "static", text, "-static")
    assert rows(str(static))["how"]["state"] == "not available"
    assert doctor(str(static)).returncode == 3
    script = tmp_path / "script"
    script.write_text(f"#!{static}\n")
    script.chmod(0o755)
    assert rows(str(script))["file"]["value"] == f"{script} → {static}"
    assert not Path("ran").exists()
    assert doctor("/nonexistent").returncode == 127


@needs_library
@needs_cc
def test_program_with_a_library_that_is_not_there(tmp_path: Path) -> None:
    library = compile_c(
        tmp_path, "libgone.so.3", "int gone;\n", "-shared", "-Wl,-soname,libgone.so.3"
    )
    made = compile_c(tmp_path, "prog", MAIN, "-Wl,--no-as-needed", str(library))
    library.unlink()
    found = rows(str(made))["libraries"]
    assert (found["state"], found["value"]) == ("not available", "not found: libgone.so.3")


@needs_library
@needs_cc
@pytest.mark.parametrize(
    ("name", "text", "flags", "row", "value"),
    [
        ("libgomp.so.1", "int x;", (), "OpenMP", "gcc's (libgomp)"),
        ("libjemalloc.so.2", "int x;", (), "allocator", "jemalloc"),
        ("libx.so", "void mi_malloc(void) {}", (), "allocator", "mimalloc"),
        ("libtsan.so.2", "int x;", (), "sanitizer", "ThreadSanitizer"),
        ("liby.so", "void __morestack(void) {}", (), "split stacks", "-fsplit-stack"),
    ],
)
def test_what_a_program_is_made_of(
    tmp_path: Path, name: str, text: str, flags: tuple[str, ...], row: str, value: str
) -> None:
    shared = ("-shared", "-fPIC", f"-Wl,-soname,{name}", *flags)
    library = compile_c(tmp_path, name, text + "\n", *shared)
    own = ("-Wl,--no-as-needed", str(library), f"-Wl,-rpath,{tmp_path}")
    assert value in rows(str(compile_c(tmp_path, "prog", MAIN, *own)))[row]["value"]


@needs_cc
def test_version_of_glibc_that_a_program_needs(tmp_path: Path) -> None:
    text = '#include <stdio.h>\n#include <pthread.h>\nint main(void) { return puts("") < 0; }\n'
    with compile_c(tmp_path, "prog", text).open("rb") as file:
        assert program.needed_glibc(ELFFile(file)) >= (2, 2)


@pytest.mark.parametrize("name", GOOD)
def test_each_feature_that_is_not_there_has_a_reason_and_advice(name: str) -> None:
    assert findings.worst(runtime.findings(reported(**GOOD))) is State.OK
    bad = {"guards": "mappings", "fences": "instructions", "tls": "shared"}.get(name, "no")
    limited = [
        one
        for one in runtime.findings(reported(**{**GOOD, name: bad}))
        if one.state is State.LIMITED
    ]
    assert len(limited) == 1
    assert "a reason" in limited[0].value
    assert limited[0].why
    assert limited[0].advice


def fake(monkeypatch: pytest.MonkeyPatch, **files: str) -> None:
    """Files of /proc and /sys, by the last part of their names."""
    real = system.text_of
    monkeypatch.setattr(system, "text_of", lambda path: files.get(Path(path).name, real(path)))


def named(name: str, found: Runtime) -> Finding:
    return next(one for one in system.findings(found) if one.name == name)


@pytest.mark.parametrize(
    ("name", "files", "state"),
    [
        ("overcommit", {"overcommit_memory": "2"}, State.LIMITED),
        ("overcommit", {"overcommit_memory": "0"}, State.OK),
        ("look at programs", {"ptrace_scope": "1", "status": "CapEff:\t0"}, State.LIMITED),
        ("look at programs", {"ptrace_scope": "1", "status": "CapEff:\t80000"}, State.OK),
        ("look at programs", {"ptrace_scope": "3"}, State.MISSING),
        ("cache misses", {"perf_event_paranoid": "3", "status": "CapEff:\t0"}, State.LIMITED),
        ("cache misses", {"perf_event_paranoid": "2"}, State.OK),
        ("mappings", {"max_map_count": "65530"}, State.LIMITED),
        ("mappings", {"max_map_count": "1048576"}, State.OK),
        ("seccomp", {"status": "Seccomp:\t2"}, State.LIMITED),
        ("seccomp", {"status": "Seccomp:\t0"}, State.OK),
    ],
)
def test_settings_of_the_system(
    name: str, files: dict[str, str], state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake(monkeypatch, **files)
    assert named(name, reported(guards="mappings", fences="instructions")).state is state


@pytest.mark.parametrize(
    ("name", "which", "value", "state"),
    [
        ("queued signals", resource.RLIMIT_SIGPENDING, 10, State.LIMITED),
        ("stacks", resource.RLIMIT_STACK, 64 << 10, State.LIMITED),
        ("stacks", resource.RLIMIT_STACK, 8 << 20, State.OK),
        ("address space", resource.RLIMIT_AS, 1 << 30, State.LIMITED),
        ("kernel threads", resource.RLIMIT_NPROC, 1, State.MISSING),
    ],
)
def test_limits_of_the_process(
    name: str, which: int, value: int, state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = resource.getrlimit
    infinite = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    monkeypatch.setattr(
        resource, "getrlimit", lambda one: (value, value) if one == which else infinite
    )
    monkeypatch.setattr(os, "getuid", lambda: 1000)
    assert real(which)
    assert named(name, reported()).state is state


def test_quota_is_that_of_the_tightest_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (inner / "cpu.max").write_text("max 100000\n")
    (tmp_path / "a" / "cpu.max").write_text("150000 100000\n")
    monkeypatch.setattr(
        system, "text_of", lambda p: "0::/a/b" if p == "/proc/self/cgroup" else Path(p).read_text()
    )
    files = system.groups("cpu.max", "cpu.cfs_quota_us", tmp_path)
    assert files == [inner / "cpu.max", tmp_path / "a" / "cpu.max"]
    monkeypatch.setattr(system, "groups", lambda *_: files)
    assert system.quota() == 1.5
    found = system._quota(reported())
    assert found.state is State.LIMITED
    assert "--cpus 2" in found.advice


def test_text_of_a_program_cannot_move_the_cursor() -> None:
    row = Finding("Program", "file", State.LIMITED, "a\x1b[2Jb", "c\x1b[2Jd", "e")
    said = "\n".join(findings.lines([row], 80))
    assert "a?[2Jb" in said
    assert "c?[2Jd" in said
