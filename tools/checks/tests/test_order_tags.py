# SPDX-License-Identifier: MIT
from __future__ import annotations

import order_tags
import pytest
from conftest import Tree

CODE = "/* ORDER(idle-wake): announce, fence, look */\nx();\n"
TABLE = "# Orders\n\n| tag | where |\n| --- | --- |\n| `idle-wake` | idle |\n"
GOOD = [
    {"src/core/a.c": CODE, "src/core/b.c": CODE, "docs/MEMORY-ORDER.md": TABLE},
    {"src/core/a.c": CODE * 2, "docs/MEMORY-ORDER.md": "## ORDER(idle-wake)\n"},
    {"src/core/a.c": CODE, "port/env/b.S": CODE, "docs/MEMORY-ORDER.md": "### `idle-wake`: x\n"},
    {"src/core/a.c": "x();\n"},
    {"src/core/a.c": "/* a comment ORDER(tag) marks it */\n"},
    # a table about something else, a mention in prose, a tag of a test
    {
        "src/core/a.c": CODE * 2,
        "tests/a.c": "/* ORDER(other) */\n",
        "docs/MEMORY-ORDER.md": TABLE + "\nprose `word`\n\n| operation |\n| --- |\n| `acquire` |\n",
    },
]
BAD = [
    ({"src/core/a.c": CODE, "docs/MEMORY-ORDER.md": TABLE}, "no partner"),
    ({"src/core/a.c": CODE * 2}, "not listed"),
    ({"src/core/a.c": CODE * 2, "docs/MEMORY-ORDER.md": "see `idle-wake`\n"}, "not listed"),
    ({"src/core/a.c": "x();\n", "docs/MEMORY-ORDER.md": TABLE}, 'no code has the tag "idle-wake"'),
    ({"src/a.c": "/* ORDER(A b) ORDER() */\n" * 2, "docs/MEMORY-ORDER.md": "## `a`\n"}, "lower"),
]


@pytest.mark.parametrize("files", GOOD)
def test_order_tags_is_silent_when_paired_and_listed(tree: Tree, files: dict[str, str]) -> None:
    assert order_tags.check(*tree(files)) == []


@pytest.mark.parametrize(("files", "text"), BAD)
def test_order_tags_complains_when_not(tree: Tree, files: dict[str, str], text: str) -> None:
    assert any(text in problem.text for problem in order_tags.check(*tree(files)))
