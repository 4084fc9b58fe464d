# SPDX-License-Identifier: MIT
"""Columns of text: what Python itself writes, for numbers of all lengths."""

from __future__ import annotations

import random

import numpy as np
import pytest

from pirn_tools.trace import columns

EDGES = [
    *(10**exponent + step for exponent in range(20) for step in (-1, 0, 1)),
    *(2**exponent + step for exponent in range(64) for step in (-1, 0, 1)),
    2**64 - 1,
]


@pytest.mark.parametrize(("base", "form"), [(columns.DECIMAL, "d"), (columns.HEXADECIMAL, "x")])
def test_numbers_are_those_that_python_writes(base: int, form: str) -> None:
    chance = random.Random(1)
    values = EDGES + [chance.getrandbits(chance.randrange(1, 65)) for _ in range(5000)]
    for some in (values, [value for value in values if value < 10_000], [0], [0, 0]):
        column = columns.numbers(np.array(some, np.uint64), base)
        text = columns.lines(["<", column, ">\n"], len(some))
        assert text.splitlines() == [f"<{value:{form}}>" for value in some]


def test_signed_numbers_are_those_that_python_writes() -> None:
    values = [*(value for value in EDGES if value < 2**63), -(2**63), -1, -10_000]
    text = columns.lines([columns.signed(np.array(values, np.int64)), "\n"], len(values))
    assert text.splitlines() == [str(value) for value in values]


def test_three_digits_have_zeroes_in_front() -> None:
    text = columns.lines([columns.three_digits(np.arange(1000)), "\n"], 1000)
    assert text.splitlines() == [f"{value:03d}" for value in range(1000)]


def test_words_are_asked_for_once_each() -> None:
    for codes in ([3, 1, 3, 3, 0], [2**40, 7, 2**40]):
        asked: list[int] = []

        def text(code: int, asked: list[int] = asked) -> str:
            asked.append(code)
            return "\u00e4" * (code % 5)

        column = columns.words(np.array(codes), text)
        said = columns.lines([column, "\n"], len(codes)).splitlines()
        assert said == ["\u00e4" * (code % 5) for code in codes]
        assert sorted(asked) == sorted(set(codes))


def test_lines_are_empty_when_there_are_none() -> None:
    nothing = np.empty(0, np.int64)
    parts = [columns.numbers(nothing), "x", columns.words(nothing, str), columns.signed(nothing)]
    assert columns.lines(parts, 0) == ""
    assert columns.lines([columns.words(np.zeros(2, np.int64), lambda _: ""), "x"], 2) == "xx"
