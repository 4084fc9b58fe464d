# SPDX-License-Identifier: MIT
"""A table of a TOML file, read strictly: an unknown key, a missing one and a value of another type
are errors that name the table and the key, and say what is valid."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from pirn_tools.errors import did_you_mean, listing


class Entry:
    """Errors are ValueErrors, to which the reader of the file adds its name."""

    def __init__(
        self, where: str, table: object, required: Collection[str], optional: Collection[str] = ()
    ) -> None:
        """where: the table's name, "" for the file's own keys."""
        self._prefix = f"{where}: " if where else ""
        if not isinstance(table, dict):
            raise ValueError(f"{self._prefix}is to be a table")
        self._table: dict[str, Any] = table
        valid = sorted({*required, *optional})
        unknown = sorted(set(table) - set(valid))
        if unknown:
            close = did_you_mean(unknown[0], valid)
            raise ValueError(
                f"{self._prefix}unknown: {listing(unknown)} (valid: {listing(valid)}){close}"
            )
        for key in sorted(required):
            if key not in table:
                needed, also = listing(sorted(required)), listing(sorted(optional))
                raise ValueError(
                    f"{self._prefix}'{key}' is missing (needed: {needed}; optional: {also})"
                )

    def has(self, key: str) -> bool:
        return key in self._table

    def value(self, key: str) -> object:
        return self._table[key]

    def text(self, key: str, default: str = "") -> str:
        value = self._table.get(key, default)
        if not isinstance(value, str):
            raise self.wrong(key, "a text")
        return value

    def number(self, key: str, default: int = 0) -> int:
        value = self._table.get(key, default)
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise self.wrong(key, "a whole number, 0 or more")
        return value

    def real(self, key: str, default: float = 0) -> float:
        value = self._table.get(key, default)
        if not isinstance(value, int | float) or isinstance(value, bool) or value < 0:
            raise self.wrong(key, "a number, 0 or more")
        return value

    def flag(self, key: str) -> bool:
        value = self._table.get(key, False)
        if not isinstance(value, bool):
            raise self.wrong(key, "true or false")
        return value

    def words(self, key: str) -> tuple[str, ...]:
        value = self._table.get(key, [])
        if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
            raise self.wrong(key, "a list of words")
        return tuple(value)

    def numbers(self, key: str) -> tuple[int, ...]:
        value = self._table.get(key, [])
        if not isinstance(value, list) or not all(type(one) is int for one in value):
            raise self.wrong(key, "a list of whole numbers")
        return tuple(value)

    def wrong(self, key: str, wanted: str) -> ValueError:
        """The value of key is not what is wanted."""
        return ValueError(f"{self._prefix}{key} is to be {wanted}")
