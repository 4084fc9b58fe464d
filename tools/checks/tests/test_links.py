# SPDX-License-Identifier: MIT
"""The check of links in Markdown and of documents that other files name."""

from __future__ import annotations

import links
import pytest
from conftest import Tree

OTHER = '# A title\n\n## `code` and *more*: 1.5\n\n## Twice\n\n## Twice\n\n<a id="own"></a>\n'
GUIDE = "docs/" + "guide/"  # not a mention for the check of this file


@pytest.mark.parametrize(
    "text",
    [
        "[a](b.md)",
        "[a](b.md#a-title) and [b](./b.md#code-and-more-15)",
        "[a](b.md#twice) [a](b.md#twice-1) [a](b.md#own)",
        "[a](#here)\n\n# Here\n",
        "[a](../pages/b.md)",
        "[a](https://example.org/x#y), [b](mailto:x@example.org)",
        "![picture](p.png)",
        "[![picture](p.png)](b.md)",
        "[a]: b.md\n\nsee [a]",
        "`[a](nowhere.md)` and ``x [a](`) nowhere.md``",
        "```c\n[a](nowhere.md)\n```\n",
        "    [a](nowhere.md)\n",
        '[a](b.md "title")',
        "[the folder](..)",
    ],
)
def test_links_is_silent_when_targets_exist(tree: Tree, text: str) -> None:
    files = {"pages/a.md": text + "\n", "pages/b.md": OTHER, "pages/p.png": "x"}
    assert links.check(*tree(files)) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[a](c.md)", "there is no pages/c.md"),
        ("x\n[a](b.md#twice-2)", 'no heading "#twice-2"'),
        ("[a](#nowhere)", 'no heading "#nowhere"'),
        ("[a](/pages/b.md)", "absolute"),
        ("[a](../../b.md)", "out of the repository"),
        ("![picture](q.png)", "there is no pages/q.png"),
        ("[![picture](q.png)](b.md)", "there is no pages/q.png"),
        ("[![picture](p.png)](c.md)", "there is no pages/c.md"),
        ("[a]: c.md", "there is no pages/c.md"),
        ("```\ncode\n```\n[a](c.md)", "there is no pages/c.md"),
        ("text\n    [a](c.md)", "there is no pages/c.md"),
    ],
)
def test_links_complains_when_a_target_is_missing(tree: Tree, text: str, message: str) -> None:
    files = {"pages/a.md": text + "\n", "pages/b.md": OTHER, "pages/p.png": "x"}
    problems = links.check(*tree(files))
    assert len(problems) == 1
    assert message in problems[0].text


def test_links_complains_when_no_document_shows_a_picture(tree: Tree) -> None:
    folder = "docs/" + "img/"
    files = {
        "docs/" + "a.md": "![x](img/shown.png)\n",
        folder + "shown.png": "x",
        folder + "unused.svg": "x",
    }
    problems = links.check(*tree(files))
    assert [(problem.path, problem.line) for problem in problems] == [(folder + "unused.svg", 1)]


def test_links_complains_when_code_names_a_document_that_is_not_there(tree: Tree) -> None:
    files = {
        "src/a.c": f"/* see {GUIDE}there.md, and {GUIDE}gone.md. */\n",
        GUIDE + "there.md": "# There\n",
    }
    problems = links.check(*tree(files))
    assert [(problem.path, problem.line) for problem in problems] == [("src/a.c", 1)]
    assert "gone.md" in problems[0].text
