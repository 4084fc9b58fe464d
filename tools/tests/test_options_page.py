# SPDX-License-Identifier: MIT
"""The guide's page of options against the library's table."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pirn_tools import options_page, paths
from pirn_tools.describe import load
from pirn_tools.errors import UserError


def test_the_guide_has_the_options_of_the_library() -> None:
    try:
        page = options_page.page()
    except UserError as error:
        pytest.skip(str(error))
    assert (paths.project() / options_page.PAGE).read_text() == page, "make options-doc"


def test_the_page_has_every_option_once_and_shared_ones_at_the_top() -> None:
    try:
        table = load()
    except UserError as error:
        pytest.skip(str(error))
    page = options_page.page(table)
    for option in table.options:
        assert page.count(f"| `{option.env}` |") == 1
    assert page.count("| `discipline` |") == 1
    alone = replace(table, policies=(*table.policies, replace(table.policies[0], options=())))
    having = [one for one in table.policies if any(o.name == "discipline" for o in one.options)]
    assert options_page.page(alone).count("| `discipline` |") == len(having)
