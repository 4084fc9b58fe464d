# SPDX-License-Identifier: MIT
"""The library's own table of options and policies (`pirn_describe()`).

That table is the only place where options are defined: this module reads it, and the options of
`pirn run`, `pirn sched list` and the man page are made from it. A new option of the library needs
no change here.
"""

from __future__ import annotations

import ctypes
import functools
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pirn_tools.binary import linked
from pirn_tools.errors import UserError
from pirn_tools.paths import libraries

SONAME = "libpirn.so.0"
PTHREAD_SONAME = "libpirn-pthread.so.0"
SPEC_TYPE = "spec"
# The meaning of an option that is given without a value; the table may say so itself ("implied").
IMPLIED_BY_TYPE = {"bool": "1", "flag": "1", "output": "text"}
IMPLIED_BY_NAME = {"stats": "text"}


@dataclass(frozen=True)
class Option:
    """One option of the runtime: --name VALUE, or the environment variable env."""

    name: str
    env: str
    type: str
    default: str
    default_pthread: str  # the default under the pthread API; "": the same
    values: str
    help: str
    implied: str | None

    @property
    def metavar(self) -> str:
        """The text behind --name in a usage line: the values where they are one word."""
        word = self.values if self.values and " " not in self.values else self.type.upper()
        return f"[{word}]" if self.implied is not None else word or "VALUE"

    @property
    def detail(self) -> str:
        """Help, valid values, environment variable, default."""
        values = f" ({self.values})" if " " in self.values else ""
        default = self.default or "none"
        if self.default_pthread:
            default += f"; under the pthread API: {self.default_pthread}"
        return f"{self.help}{values} [{self.env}; default {default}]"

    def takes(self, word: str) -> bool:
        """Whether the word may be the value of an option whose value can be left out."""
        words = set(re.split(r"[\s|,]+", self.values)) - {"or", "to"}
        if word == self.implied or word in words:
            return True
        prefixes = tuple(known.split(":")[0] + ":" for known in words if ":" in known)
        return word.startswith(prefixes)


@dataclass(frozen=True)
class OrgOption:
    """One option of a policy, written after the colon: steal:victim=max."""

    name: str
    values: tuple[str, ...]  # empty: free text
    free: str  # what the free text is, such as FILE
    default: str
    help: str


@dataclass(frozen=True)
class Policy:
    """A scheduler policy."""

    name: str
    help: str
    options: tuple[OrgOption, ...]


@dataclass(frozen=True)
class Description:
    """Everything the library says about itself."""

    version: str
    options: tuple[Option, ...]
    policies: tuple[Policy, ...]
    raw: Mapping[str, Any]

    def policy(self, name: str) -> Policy | None:
        return next((org for org in self.policies if org.name == name), None)


def parse(text: str) -> Description:
    """The description from the library's JSON."""
    raw = json.loads(text)
    return Description(
        version=str(raw["version"]),
        options=tuple(_option(entry) for entry in raw["options"]),
        policies=tuple(_policy(entry) for entry in raw["policies"]),
        raw=raw,
    )


def _text(value: object) -> str:
    return "" if value is None else str(value)


def _option(entry: Mapping[str, Any]) -> Option:
    name, kind = str(entry["name"]), _text(entry.get("type"))
    implied = entry.get("implied") or IMPLIED_BY_TYPE.get(kind) or IMPLIED_BY_NAME.get(name)
    return Option(
        name=name,
        env=str(entry["env"]),
        type=kind,
        default=_text(entry.get("default")),
        default_pthread=_text(entry.get("default_pthread")),
        values=_text(entry.get("values")),
        help=_text(entry.get("help")),
        implied=None if implied is None else str(implied),
    )


def _policy(entry: Mapping[str, Any]) -> Policy:
    return Policy(
        name=str(entry["name"]),
        help=_text(entry.get("help")),
        options=tuple(_org_option(option) for option in entry.get("options", ())),
    )


def _org_option(entry: Mapping[str, Any]) -> OrgOption:
    values = entry.get("values") or ()
    # A string instead of a list describes free text (file, microseconds): nothing to check here.
    free = values if isinstance(values, str) else ""
    return OrgOption(
        name=str(entry["name"]),
        values=() if free else tuple(str(value) for value in values),
        free=free,
        default=_text(entry.get("default")),
        help=_text(entry.get("help")),
    )


def check_options(settings: Mapping[str, str]) -> str | None:
    """Why the first wrong value among these environment variables is wrong, as the library says it;
    None: all are valid, or the library is too old to say. It reads them in our own environment."""
    check = getattr(ctypes.CDLL(str(find_library())), "pirn_check_options", None)
    if check is None:
        return None
    check.restype, check.argtypes = ctypes.c_char_p, []
    own = {name: value for name, value in os.environ.items() if name.startswith("PIRN_")}
    try:
        for name in own:
            del os.environ[name]
        os.environ.update(settings)
        found = check()
    finally:
        for name in settings:
            os.environ.pop(name, None)
        os.environ.update(own)
    return None if found is None else bytes(found).decode("utf-8", "replace")


def find_library(soname: str = SONAME) -> Path | None:
    """$PIRN_LIBRARY, that of this tree, package or prefix, then where the dynamic linker looks."""
    named = os.environ.get("PIRN_LIBRARY")
    if named:
        return Path(named).resolve().with_name(soname) if soname != SONAME else Path(named)
    folder = libraries()
    if folder is not None and (folder / soname).exists():
        return folder / soname
    return linked.locate(soname, ())


@functools.cache
def load() -> Description:
    """Reads the table out of the library."""
    library = find_library()
    if library is None:
        raise UserError(
            f"{SONAME} not found: build the project (make apps), install it, "
            "or set PIRN_LIBRARY to its path"
        )
    try:
        describe = ctypes.CDLL(str(library)).pirn_describe
    except OSError as error:
        raise UserError(f"cannot load {library}: {error}") from None
    except AttributeError:
        raise UserError(f"{library} has no pirn_describe(); is it libpirn?") from None
    describe.restype = ctypes.c_char_p
    describe.argtypes = []
    text = describe()
    try:
        return parse((text or b"").decode())
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"{library} describes itself in a way not understood: {error!r}") from None
