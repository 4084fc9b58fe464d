# SPDX-License-Identifier: MIT
"""`pirn chip`: configurations, builds that are kept, and what the simulator says of bad input."""

from __future__ import annotations

import shutil
import struct
import subprocess
import threading
from pathlib import Path

import pytest
from click.testing import CliRunner

from pirn_tools.chip import build
from pirn_tools.chip.cli import chip
from pirn_tools.chip.config import MUTANTS, SCHEDULER_MUTANTS, Config, intervals
from pirn_tools.errors import UserError

needs_verilator = pytest.mark.skipif(
    shutil.which("verilator") is None, reason="no verilator (tools/setup --group chip)"
)
ROOT = Path(__file__).resolve().parent.parent.parent
START = 0x80000000
# lui t0, 0x100; lui t1, 5; addi t1, t1, 0x555; sw t1, 0(t0); j .
PASSES = (0x001002B7, 0x00005337, 0x55530313, 0x0062A023, 0x0000006F)
LOOPS = (0x0000006F,)


def elf(
    words: tuple[int, ...] = PASSES,
    *,
    entry: int = START,
    machine: int = 243,
    bits: int = 1,
    at: int = START,
    memory: int | None = None,
    kind: int = 2,
) -> bytes:
    """A program of one segment."""
    code = struct.pack(f"<{len(words)}I", *words)
    ident = b"\x7fELF" + bytes([bits, 1, 1]) + bytes(9)
    if bits == 2:
        head = struct.pack("<HHIQQQIHHHHHH", kind, machine, 1, entry, 0, 0, 0, 64, 56, 0, 0, 0, 0)
        return ident + head
    head = struct.pack("<HHIIIIIHHHHHH", kind, machine, 1, entry, 52, 0, 0, 52, 32, 1, 0, 0, 0)
    size = len(code) if memory is None else memory
    part = struct.pack("<8I", 1, 84, at, at, len(code), size, 7, 4)
    return ident + head + part + code


@pytest.mark.parametrize(
    ("option", "value", "valid"),
    [
        ("--cores", "0", "1 to 8"),
        ("--cores", "9", "1 to 8"),
        ("--threads", "5", "1 to 4"),
        ("--banks", "3", "1, 2, 4, 8"),
        ("--ram", "3", "1, 2, 4"),
        ("--scheduler", "257", "0 to 256"),
        ("--scheduler", "-1", "0 to 256"),
        ("--scheduler-stages", "0", "1, 2"),
        ("--scheduler-stages", "3", "1, 2"),
    ],
)
def test_a_size_that_the_chip_cannot_have_is_named(option: str, value: str, valid: str) -> None:
    result = CliRunner().invoke(chip, ["build", option, value])
    assert result.exit_code == 2
    assert f"{option}: the chip cannot have {value}" in result.output
    assert valid in result.output


def test_an_unknown_fault_is_named() -> None:
    result = CliRunner().invoke(chip, ["build", "--mutant", "none-such"])
    assert result.exit_code == 2
    assert "none-such" in result.output
    assert "no-drop" in result.output


def test_a_fault_of_the_scheduler_needs_the_scheduler() -> None:
    result = CliRunner().invoke(chip, ["build", "--mutant", "woken-stays"])
    assert result.exit_code == 2
    assert "--mutant woken-stays: needs --scheduler N" in result.output


def test_stages_of_the_scheduler_need_the_scheduler() -> None:
    result = CliRunner().invoke(chip, ["build", "--scheduler-stages", "2"])
    assert result.exit_code == 2
    assert "--scheduler-stages 2: needs --scheduler N" in result.output


def test_each_fault_is_in_the_rtl() -> None:
    text = "".join(path.read_text() for path in (ROOT / "hw" / "rtl").glob("*.sv"))
    for name in MUTANTS | SCHEDULER_MUTANTS:
        assert f"SOC_MUTANT_{name.upper().replace('-', '_')}" in text, name


def test_names_differ_where_configurations_do() -> None:
    configs = [
        Config(),
        Config(cores=2),
        Config(threads=2),
        Config(banks=8),
        Config(ram_mib=64),
        Config(wave=".vcd"),
        Config(wave=".fst"),
        Config(scheduler=16),
        Config(scheduler=16, scheduler_stages=2),
        Config(mutant="no-drop"),
    ]
    assert len({one.name for one in configs}) == len(configs)


def test_the_hash_changes_with_sources_and_configuration(tmp_path: Path) -> None:
    for folder in ("rtl", "sim"):
        (tmp_path / "hw" / folder).mkdir(parents=True)
    source = tmp_path / "hw" / "rtl" / "soc.sv"
    source.write_text("module soc; endmodule\n")
    first = build.fingerprint(tmp_path, Config(), "1")
    assert build.fingerprint(tmp_path, Config(), "1") == first
    assert build.fingerprint(tmp_path, Config(cores=2), "1") != first
    assert build.fingerprint(tmp_path, Config(wave=".vcd"), "1") != first
    assert build.fingerprint(tmp_path, Config(), "2") != first
    source.write_text("module soc; wire x; endmodule\n")
    assert build.fingerprint(tmp_path, Config(), "1") != first


def test_a_missing_verilator_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match="verilator is missing; tools/setup --group chip"):
        build.simulator(ROOT, Config())


def test_two_builds_at_once_build_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for folder in ("rtl", "sim"):
        (tmp_path / "hw" / folder).mkdir(parents=True)
    builds: list[Path] = []

    def compile_into(root: Path, config: Config, path: str, folder: Path) -> None:
        assert not folder.exists()
        builds.append(folder)
        folder.mkdir(parents=True)
        (folder / build.PROGRAM).write_text(f"{root} {config.name} {path}")

    monkeypatch.setattr(build, "compile_into", compile_into)
    monkeypatch.setattr(build, "tool", lambda: "verilator")
    monkeypatch.setattr(build, "version", lambda _: "1")
    results: list[Path] = []
    threads = [
        threading.Thread(target=lambda: results.append(build.simulator(tmp_path, Config())))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(builds) == 1
    assert len(results) == 4
    assert results[0].exists()


def test_a_missing_library_is_explained() -> None:
    text = "sim/options.cc:8:10: fatal error: 'CLI/CLI.hpp' file not found\n"
    assert "libcli11-dev" in build.explain(text)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--pressure", "3"], "--seed"),
        (["--latency", "3"], "4<=x<=2047"),
        (["--wave", "x.txt"], 'no waveform ends in ".txt"'),
        (["--wave-to", "5"], "--wave FILE"),
        (["--wave", "x.vcd", "--wave-from", "-1"], "-1 is not in the range x>=0"),
        (["--wave", "x.vcd", "--wave-from", "6", "--wave-to", "5"], "6 is after --wave-to 5"),
        (["--slow", "2"], '"2" is not CORES:N'),
        (["--slow", "a:2"], '"a:2" is not CORES:N'),
        (["--slow", "0:"], 'every "" cycles (valid: 1 to 16)'),
        (["--slow", "0:17"], 'every "17" cycles (valid: 1 to 16)'),
        (["--slow", "0:-1"], 'every "-1" cycles (valid: 1 to 16)'),
        (["--cores", "2", "--slow", "1-2:4"], "no core 2 (valid: 0 to 1)"),
        (["--cores", "4", "--slow", "3-2:4"], "3-2 ends before it begins"),
        (["--cores", "4", "--slow", "1-3:4", "--slow", "0,2:8"], "core 2 is named twice"),
    ],
)
def test_wrong_options_of_a_run(options: list[str], text: str, tmp_path: Path) -> None:
    image = tmp_path / "image"
    image.write_bytes(elf())
    result = CliRunner().invoke(chip, ["run", *options, str(image)])
    assert result.exit_code == 2
    assert text in result.output


def test_slow_cores_are_listed_or_in_ranges() -> None:
    assert intervals((), 3) == (1, 1, 1)
    assert intervals(("2-3:4", "0,5-6:16", "4:2"), 8) == (16, 1, 4, 4, 2, 16, 16, 1)


@pytest.fixture(scope="module")
def simulator() -> Path:
    return build.simulator(ROOT, Config())


def run(simulator: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [simulator, *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        stdin=subprocess.DEVNULL,
    )


@needs_verilator
@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "not an ELF file"),
        (b"#!/bin/sh\n", "not an ELF file"),
        (elf(bits=2), "of 64 bits (class 2)"),
        (elf(machine=62), "for machine 62, not RISC-V (243)"),
        (elf(entry=0x80000004), "starts at 0x80000004; the harts start at 0x80000000"),
        (elf(at=0x1000), "a segment from 0x1000 to 0x1014 is outside memory"),
        (elf(memory=129 << 20), "from 0x80000000 to 0x88100000 is outside memory, which ends at"),
        (elf(memory=4), "20 bytes in the file, but only 4 in memory"),
        (elf()[:-4], "ends inside a segment"),
        (elf(kind=3), "of type 3"),
    ],
)
def test_a_bad_image_is_explained(data: bytes, text: str, simulator: Path, tmp_path: Path) -> None:
    image = tmp_path / "image"
    image.write_bytes(data)
    result = run(simulator, str(image))
    assert result.returncode == 2
    assert str(image) in result.stderr
    assert text in result.stderr


@needs_verilator
@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("1,1", "2 numbers (valid: one for each of the 1 cores)"),
        ("0", "not in range 1 to 16"),
        ("17", "not in range 1 to 16"),
    ],
)
def test_the_simulator_refuses_wrong_intervals(
    value: str, text: str, simulator: Path, tmp_path: Path
) -> None:
    image = tmp_path / "image"
    image.write_bytes(elf())
    result = run(simulator, "--intervals", value, str(image))
    assert result.returncode == 2
    assert text in result.stderr


@needs_verilator
def test_a_program_that_does_not_end_is_stopped(simulator: Path, tmp_path: Path) -> None:
    image = tmp_path / "image"
    image.write_bytes(elf(LOOPS))
    result = run(simulator, "--cycles", "500", str(image))
    assert result.returncode == 124
    assert "500 cycles (--cycles)" in result.stderr


@needs_verilator
def test_counters_add_up(simulator: Path, tmp_path: Path) -> None:
    image = tmp_path / "image"
    image.write_bytes(elf())
    counters = tmp_path / "counters"
    result = run(simulator, "--lockstep", "--counters", str(counters), str(image))
    assert result.returncode == 0, result.stderr
    import json

    read = json.loads(counters.read_text())
    assert (read["cores"], read["threads"]) == (1, 1)
    # the cycle in which the program ends is counted, too
    assert sum(read["harts"][0].values()) == read["cycles"] + 1


@needs_verilator
def test_runs_repeat(simulator: Path, tmp_path: Path) -> None:
    image = tmp_path / "image"
    image.write_bytes(elf())
    texts = []
    for name in ("a", "b"):
        counters = tmp_path / name
        options = ["--seed", "7", "--pressure", "100", "--counters", str(counters)]
        assert run(simulator, *options, str(image)).returncode == 0
        texts.append(counters.read_text())
    assert texts[0] == texts[1]
