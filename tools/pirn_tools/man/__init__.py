# SPDX-License-Identifier: MIT
"""Manual pages: pirn(1) and one for each verb, libpirn-pthread(7), the native API in section 3.

Nothing in them is written twice: the commands' pages are made from their help, options and policies
from the library's own table, section 3 from the comments of the public headers.
"""

from __future__ import annotations

from pathlib import Path

import click

from pirn_tools.describe import load
from pirn_tools.man import api, commands, library


def pages(main: click.Group, include: Path) -> dict[str, str]:
    """File name (pirn.1) -> text. include: the folder with the public headers."""
    description = load()
    found = commands.pages(main, description)
    found["libpirn-pthread.7"] = library.page(description)
    found |= api.pages(include, description.version)
    return found


def write(folder: Path, found: dict[str, str]) -> None:
    """Each page into the subfolder of its section (man1); pages of before that are gone go."""
    wanted = {folder / f"man{name.rsplit('.', 1)[1]}" / name: text for name, text in found.items()}
    for path, text in wanted.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for path in folder.glob("man[1-8]/*"):
        if path not in wanted:
            path.unlink()
