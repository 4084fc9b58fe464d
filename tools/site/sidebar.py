# SPDX-License-Identifier: MIT
"""The site's sidebar, read from the tables of docs/README.md: a caption for each section, then the
pages that it links to, in their order."""

from __future__ import annotations

import os
import re
from pathlib import Path

INDEX = Path("docs/README.md")
LINK = re.compile(r"\[[^\]]+\]\(([^)#\s]+\.md)\)")


def sections(root: Path) -> dict[str, list[str]]:
    """Caption -> pages, relative to root, without suffix."""
    found: dict[str, list[str]] = {}
    caption = ""
    for line in (root / INDEX).read_text().splitlines():
        if line.startswith("## "):
            caption = line[3:].split(":")[0]
            found[caption] = []
        elif line.startswith("|"):
            for target in LINK.findall(line):
                page = os.path.normpath(INDEX.parent / target).removesuffix(".md")
                if caption and not any(page in pages for pages in found.values()):
                    found[caption].append(page)
    return found


def outside(root: Path) -> list[str]:
    """Pages of the site that are not in docs/."""
    pages = (page for pages in sections(root).values() for page in pages)
    return [f"{page}.md" for page in pages if not page.startswith("docs/")]


def trees(root: Path) -> str:
    text = "\n\n```{toctree}\n:hidden:\n\ndocs/README\n```\n"
    for caption, pages in sections(root).items():
        text += (
            f"\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n" + "\n".join(pages) + "\n```\n"
        )
    return text
