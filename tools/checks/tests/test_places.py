# SPDX-License-Identifier: MIT
"""The check of tables that say in which file a function is."""

from __future__ import annotations

import places
import pytest
from conftest import Tree

CODE = "struct thing { int x; };\nint begin_it(void) { return 0; }\n"
HEAD = "| step | file | function |\n| --- | --- | --- |\n"


@pytest.mark.parametrize(
    "row",
    [
        "| begins | `src/a.c` | `begin_it` |",
        "| both | `src/a.c` | `begin_it`, `struct thing` |",
        "| `begin_it` | `src/a.c` | what it is |",
        "| last | `src/a.c` |",
        "| a folder | `src/` | `nothing_there` |",
    ],
)
def test_places_is_silent_when_the_file_has_the_names(tree: Tree, row: str) -> None:
    assert places.check(*tree({"docs/" + "a.md": HEAD + row + "\n", "src/a.c": CODE})) == []


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("| begins | `src/b.c` | `begin_it` |", "there is no src/b.c"),
        ("| begins | `src/a.c` | `begin` |", "src/a.c has no begin"),
        ("| both | `src/a.c` | `begin_it`, `other` |", "src/a.c has no other"),
    ],
)
def test_places_complains_when_a_name_has_gone(tree: Tree, row: str, message: str) -> None:
    problems = places.check(*tree({"docs/" + "a.md": HEAD + row + "\n", "src/a.c": CODE}))
    assert [problem.text for problem in problems] == [message]
    assert problems[0].line == 3
