# SPDX-License-Identifier: MIT
"""What sets of figures share: Markdown, work done at once, facts of runs of the chip."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from rich.console import Console

from pirn_tools.chip import sizes
from pirn_tools.chip.config import Config
from pirn_tools.chip.sweep import Result, Run, at_once
from pirn_tools.errors import UserError
from pirn_tools.figures import markdown, on_chip

CONSOLE = Console(quiet=True)
ROOT = Path(__file__).resolve().parents[2]


def test_a_table_aligns_numbers_to_the_right() -> None:
    assert markdown.table(["a", "b", "c"], [["x", "y", "1"]], left=(0, 1)) == (
        "| a | b | c |\n| :-- | :-- | --: |\n| x | y | 1 |"
    )


def test_a_page_begins_with_its_licence_and_what_writes_it() -> None:
    head = markdown.begin("Title", "hw", "/hw_page.py").splitlines()
    assert head[0] == "<!-- SPDX-License-Identifier: MIT -->"
    assert "`pirn bench figures hw`: change pirn_tools/figures/hw_page.py." in head[1]
    assert head[2] == "# Title"


def test_words_are_joined_and_counted() -> None:
    assert [markdown.joined(words) for words in (["a"], ["a", "b"], ["a", "b", "c"])] == [
        "a",
        "a and b",
        "a, b and c",
    ]
    assert markdown.counted(1, "CPU") == "1 CPU"
    assert markdown.counted(1000, "CPU") == "1,000 CPUs"


def test_items_are_worked_on_at_once() -> None:
    both = threading.Barrier(2, timeout=60)

    def work(item: int) -> int:
        both.wait()
        return item * item

    assert at_once([2, 3], work, "squares", 2, CONSOLE) == {2: 4, 3: 9}


def test_the_first_failure_ends_the_work() -> None:
    done: list[int] = []

    def work(item: int) -> None:
        if item == 0:
            raise UserError("item 0 fails")
        done.append(item)

    with pytest.raises(UserError, match="item 0 fails"):
        at_once(range(1000), work, "items", 1, CONSOLE)
    assert done == []


def test_facts_count_runs_and_their_cycles() -> None:
    runs = [Result("", {"cycles": 1_600_000}), Result("", {"cycles": 900_000})]
    facts = on_chip.facts(ROOT, "hw --short", "4 banks", runs, seeds="2")
    assert facts["command"] == "`pirn bench figures hw --short`"
    assert facts["chip"] == "RV32IMA, 4 banks"
    assert facts["runs"] == "2, 2 million cycles"
    assert list(facts) == [
        *("command", "commit", "chip", "first level", "buffers", "seeds", "runs", "cost")
    ]
    assert facts["cost"] == "not known"


PACKAGE = """`ifndef SOC_ICACHE_SETS
`define SOC_ICACHE_SETS 64
`endif
`define SOC_DCACHE_SETS 32
`define SOC_QUEUE 8
    parameter int WAYS = 4;  // of the first-level caches
    parameter int STORES = 2;  // of a thread
    logic [DATA_BITS-1:0] data;
    logic [255:0] data;
"""


def package(root: Path, text: str) -> Path:
    path = root / sizes.PACKAGE
    path.parent.mkdir(parents=True)
    path.write_text(text)
    return root


def test_facts_have_the_sizes_of_the_rtl(tmp_path: Path) -> None:
    facts = on_chip.memory(package(tmp_path, PACKAGE))
    assert facts == {
        "first level": "each core has caches of 8 KiB for instructions and of 4 KiB for data, "
        "4 ways, lines of 32 bytes, written through",
        "buffers": "2 stores of a hardware thread, 8 answers of a bank",
    }


def test_a_size_that_the_rtl_does_not_say_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"soc_pkg\.sv: No such file"):
        sizes.sizes(tmp_path)
    package(tmp_path, PACKAGE.replace("STORES", "STORED"))
    with pytest.raises(UserError, match="STORES is not found once, but 0 times"):
        sizes.sizes(tmp_path)


def test_the_document_has_the_sizes_of_the_rtl() -> None:
    found = sizes.sizes(ROOT)
    text = (ROOT / "docs" / "internals" / "chip.md").read_text()
    assert f"{sizes.kib(found.instructions)} for instructions" in text
    assert f"{sizes.kib(found.data)} for data" in text
    assert f"has {found.stores} stores on their way" in text
    assert f"a queue of {found.answers}" in text
    assert f"({found.ways} ways, lines of {found.line} bytes, written through)" in text


def test_the_cost_is_the_sum_over_all_runs_whose_time_is_known() -> None:
    end = " of simulation, the sum over all runs, beside other work"
    assert on_chip.cost([90.0, 60.0]) == f"2.5 minutes{end}"
    assert on_chip.cost([600.0, 660.0]) == f"21 minutes{end}"
    assert on_chip.cost([2.26]) == f"2.3 seconds{end}"
    assert "sum over 2 of 3 runs" in on_chip.cost([60.0, 0, 60.0])


def test_each_part_has_its_cost() -> None:
    parts = {"Figure 2": [Result("", {"cycles": 1_500_000}, 30.0)] * 2, "Figure 3": []}
    text = on_chip.costs(parts)
    assert "| Figure 2 | 2 | 3.0 | 1.0 |\n" in text
    assert "| Figure 3 | 0 | 0.0 | 0.0 |" in text


def test_a_part_whose_time_is_not_known_says_so() -> None:
    text = on_chip.cost_table(
        [on_chip.Cost("kept", [60.0, 0], 2_000_000), on_chip.Cost("place and route", [90.0])]
    )
    assert "| kept | 2 | 2.0 | 1.0 (1 of 2 runs) |\n" in text
    assert "| place and route | 1 | - | 1.5 |" in text


def test_runs_that_no_part_shows_are_counted_too() -> None:
    shown, other = Run(Path("a"), Config()), Run(Path("b"), Config())
    results = {run: Result("", {"cycles": 1}, 60.0) for run in (shown, other)}
    parts = on_chip.by_part(results, {shown: "Figure 5"}, "loads")
    assert parts == {"Figure 5": [results[shown]], "loads": [results[other]]}
    assert list(on_chip.by_part({}, {shown: "Figure 5"}, "loads")) == ["Figure 5"]
    head, table = on_chip.cost_section(results, {shown: "Figure 5"}, "loads")
    assert head == "## Cost"
    assert "| loads | 1 | 0.0 | 1.0 |" in table
