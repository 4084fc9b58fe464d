# SPDX-License-Identifier: MIT
"""Sphinx's configuration of the documentation's site: `make site`.

The pages are the repository's Markdown files where they lie, so that links are the same on the site
and in the repository. The order of the sidebar is that of docs/README.md.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(Path(__file__).resolve().parent))

import sidebar  # noqa: E402

project = "Pirn"
author = "the Pirn authors"
project_copyright = ""
found = re.search(r"VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text().split("project(")[1])
version = release = found[1] if found else ""

extensions = ["myst_parser"]
root_doc = "README"
source_suffix = {".md": "markdown"}
include_patterns = ["README.md", "docs/**", *sidebar.outside(ROOT)]
exclude_patterns = [".*", ".*/**", "build", "build/**", "results", "results/**", "**/__pycache__"]

myst_heading_anchors = 6
myst_links_external_new_tab = False
suppress_warnings = ["myst.header"]

html_theme = "furo"
html_title = f"Pirn {release}"
html_show_copyright = False
html_show_sphinx = False
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {"source_edit_link": "", "source_view_link": ""}
pygments_style = "default"
pygments_dark_style = "monokai"

INDEX = '<!doctype html><meta http-equiv="refresh" content="0; url=README.html"><title>Pirn</title>'


def add_sidebar(_app: Sphinx, name: str, content: list[str]) -> None:
    """The first page holds the tree of pages, which the sidebar shows."""
    if name == root_doc:
        content[0] += sidebar.trees(ROOT)


def read_again(_app: Sphinx, *_what: object) -> list[str]:
    """The tree comes from another file than the first page's: that one is read at each build."""
    return [root_doc]


def write_index(app: Sphinx, error: Exception | None) -> None:
    if error is None:
        (Path(app.outdir) / "index.html").write_text(INDEX + "\n")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("env-get-outdated", read_again)
    app.connect("source-read", add_sidebar)
    app.connect("build-finished", write_index)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
