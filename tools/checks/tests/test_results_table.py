# SPDX-License-Identifier: MIT
"""The README's table of results against the page that has all of them."""

from __future__ import annotations

from pathlib import Path

import results_table
from conftest import Tree

MACHINE = "| machine | |\n| :-- | --: |\n| processor | A CPU |\n| kernel | Linux 6 |\n"
MACHINE += "| C library | glibc 2 |\n\n"
DEMO = "Decoded 8 times: decoded 8 times: 1,234 threads.\n\n"
DEMO += "| policy | wall time | ratio to NPTL |\n| --- | --: | --: |\n| steal | 1 ms | 0.40 |\n\n"
HEAD = "| row | pirn | pirn-pthread | nptl | boost | pth | go | may | tokio |\n"
HEAD += "| :-- | --: | --: | --: | --: | --: | --: | --: | --: |\n"
BLOCK = f"{results_table.BEGIN}\nold\n{results_table.END}\n"


def measured(boost: str = "50") -> str:
    rows = [f"| {name} | 1.5 | 2000 | 30000 | {boost} | - | 70 | - | 80 |" for name in ROWS]
    return MACHINE + DEMO + HEAD + "\n".join(rows) + "\n"


ROWS = results_table.ROWS


def files(text: str, readme: str = BLOCK) -> dict[str, str]:
    return {str(results_table.SOURCE): text, "README.md": readme}


def fixed(tree: Tree, text: str) -> Path:
    root, _ = tree(files(text))
    assert results_table.check(root, fix=True) == []
    return root


def test_results_table_has_figures_machine_and_the_best_peer_when_fixed(tree: Tree) -> None:
    page = (fixed(tree, measured()) / "README.md").read_text()
    assert "| yield, 1 worker | 1.5 | 2,000 | 50 (Boost.Fiber) | 30,000 |" in page
    assert "A CPU" in page
    assert "1,234 threads in 0.40 of" in page
    assert "old" not in page


def test_results_table_is_silent_when_current_and_complains_when_figures_change(tree: Tree) -> None:
    root = fixed(tree, measured())
    assert results_table.check(root) == []
    (root / results_table.SOURCE).write_text(measured(boost="90"))
    assert [problem.path for problem in results_table.check(root)] == ["README.md"]


def test_results_table_says_what_is_missing_when_the_page_lacks_a_row(tree: Tree) -> None:
    root, _ = tree(files(measured().replace("| memory-1w", "| other")))
    assert "no row memory-1w" in results_table.check(root)[0].text
    root, _ = tree(files(measured(), readme="nothing\n"))
    assert "once each" in results_table.check(root)[0].text
