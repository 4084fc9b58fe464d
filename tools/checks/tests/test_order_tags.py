# SPDX-License-Identifier: MIT
from __future__ import annotations

import order_tags
import pytest
from conftest import Tree

DOCUMENT = str(order_tags.DOCUMENT)
CODE = "/* ORDER(idle-wake): announce, fence, look */\nx();\n"
TABLE = "# Orders\n\n| tag | where |\n| --- | --- |\n| `idle-wake` | idle |\n"
GOOD = [
    {"src/core/a.c": CODE, "src/core/b.c": CODE, DOCUMENT: TABLE},
    {"src/core/a.c": CODE * 2, DOCUMENT: "## ORDER(idle-wake)\n"},
    {"src/core/a.c": CODE, "port/env/b.S": CODE, DOCUMENT: "### `idle-wake`: x\n"},
    {"src/core/a.c": "x();\n"},
    {"src/core/a.c": "/* a comment ORDER(tag) marks it */\n"},
    # a table about something else, a mention in prose, a tag of a test
    {
        "src/core/a.c": CODE * 2,
        "tests/a.c": "/* ORDER(other) */\n",
        DOCUMENT: TABLE + "\nprose `word`\n\n| operation |\n| --- |\n| `acquire` |\n",
    },
]
BAD = [
    ({"src/core/a.c": CODE, DOCUMENT: TABLE}, "no partner"),
    ({"src/core/a.c": CODE * 2}, "not listed"),
    ({"src/core/a.c": CODE * 2, DOCUMENT: "see `idle-wake`\n"}, "not listed"),
    ({"src/core/a.c": "x();\n", DOCUMENT: TABLE}, 'no code has the tag "idle-wake"'),
    ({"src/a.c": "/* ORDER(A b) ORDER() */\n" * 2, DOCUMENT: "## `a`\n"}, "lower"),
]


@pytest.mark.parametrize("files", GOOD)
def test_order_tags_is_silent_when_paired_and_listed(tree: Tree, files: dict[str, str]) -> None:
    assert order_tags.check(*tree(files)) == []


@pytest.mark.parametrize(("files", "text"), BAD)
def test_order_tags_complains_when_not(tree: Tree, files: dict[str, str], text: str) -> None:
    assert any(text in problem.text for problem in order_tags.check(*tree(files)))
