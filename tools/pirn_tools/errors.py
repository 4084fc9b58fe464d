# SPDX-License-Identifier: MIT
"""Errors that the user can do something about: one sentence, an exit status, no traceback."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

import click


class UserError(click.ClickException):
    """A message for the user. Status 1: something failed; 2: the command line is wrong."""

    def __init__(self, message: str, status: int = 1) -> None:
        super().__init__(message)
        self.exit_code = status  # type: ignore[misc]


def did_you_mean(word: str, valid: Iterable[str]) -> str:
    """`; did you mean "steal"?`, or nothing when no valid word is close."""
    close = difflib.get_close_matches(word, list(valid), n=1, cutoff=0.5)
    return f'; did you mean "{close[0]}"?' if close else ""


def listing(words: Sequence[str]) -> str:
    """The valid words, readable inside a sentence."""
    return ", ".join(words) if words else "none"
