# SPDX-License-Identifier: MIT
"""Parts of pages that commands write."""

from __future__ import annotations

from pathlib import Path

import pytest

from pirn_tools import parts
from pirn_tools.errors import UserError

PAGE = "# T\n\n<!-- one: begin (make one) -->\nold\n<!-- one: end -->\n\nprose\n"


def test_a_part_is_replaced_and_the_rest_stays(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    for text in ("first", "\nsecond\n\n"):
        parts.replace(page, "one", text)
        assert page.read_text() == PAGE.replace("old", text.strip())


@pytest.mark.parametrize(
    "text",
    [
        "nothing",
        PAGE + PAGE,
        PAGE.replace("<!-- one: end -->", ""),
        "<!-- one: end -->\n<!-- one: begin -->",
    ],
)
def test_a_page_without_the_part_is_refused_and_stays(tmp_path: Path, text: str) -> None:
    page = tmp_path / "page.md"
    page.write_text(text)
    with pytest.raises(UserError, match='the part "one" once'):
        parts.replace(page, "one", "new")
    assert page.read_text() == text


def test_headings_become_deeper_outside_of_code() -> None:
    text = "# T\n\n## A\n\n```sh\n# comment\n```\n### B"
    assert parts.without_title(text) == "## A\n\n```sh\n# comment\n```\n### B"
    assert parts.deeper(text) == "## T\n\n### A\n\n```sh\n# comment\n```\n#### B"
    assert parts.without_title("plain\ntext") == "plain\ntext"
