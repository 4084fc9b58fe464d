# SPDX-License-Identifier: MIT
"""The check of the site, on sites of a page or two that have one fault each; and the sidebar."""

from __future__ import annotations

import base64
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

SITE = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(SITE))

import check  # noqa: E402
import sidebar  # noqa: E402

BROWSER = next((path for name in check.BROWSERS if (path := shutil.which(name))), None)
PICTURE = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
)
FIELD = '<form action="search.html"><input name="q"></form>'
SEARCH = """<div id="search-results"></div><script>
const word = new URLSearchParams(location.search).get("q");
const found = "<ul class=search><li><a href=README.html>x</a></li></ul>";
document.getElementById("search-results").innerHTML =
    "Search finished" + (WORDS.includes(word) ? found : "");
</script>"""


def site(folder: Path, body: str, words: tuple[str, ...] = check.FOUND) -> Path:
    redirect = '<meta http-equiv="refresh" content="0; url=README.html">'
    (folder / "index.html").write_text(redirect)
    (folder / "README.html").write_text(f"<!doctype html>{FIELD}<h1 id=top>x</h1>{body}")
    (folder / "other.html").write_text("<!doctype html><h1 id=here>y</h1>")
    (folder / "search.html").write_text(SEARCH.replace("WORDS", str(list(words))))
    (folder / "a.png").write_bytes(PICTURE)
    return folder


needs_browser = pytest.mark.skipif(
    BROWSER is None or find_spec("playwright") is None,
    reason="no Chromium or no playwright: tools/setup --group browser --group site installs them",
)


def faults(folder: Path) -> list[str]:
    return check.read(folder, str(BROWSER)).faults


@needs_browser
def test_a_site_without_faults_is_read_whole(tmp_path: Path) -> None:
    body = (
        '<a href="other.html#here">a</a><a href="#top">b</a><a href="a.png">c</a><img src="a.png">'
    )
    reader = check.read(site(tmp_path, body), str(BROWSER))
    assert reader.faults == []
    assert len(reader.ids) == 2
    assert reader.pictures == 1


@needs_browser
@pytest.mark.parametrize(
    ("body", "text"),
    [
        ('<a href="gone.html">a</a>', "gone.html: there is no such file"),
        ('<a href="gone.txt">a</a>', "gone.txt: there is no such file"),
        ('<a href="other.html#gone">a</a>', "other.html#gone: the page has no such place"),
        ('<img src="gone.png">', "a picture does not load: gone.png"),
        ("<script>nothing.here()</script>", "a script fails"),
        ('<img src="http://127.0.0.2:9/a.png">', "asks another host"),
    ],
)
def test_each_fault_is_found(tmp_path: Path, body: str, text: str) -> None:
    assert any(text in fault for fault in faults(site(tmp_path, body)))


@needs_browser
def test_a_search_that_misses_a_word_or_finds_any_is_a_fault(tmp_path: Path) -> None:
    assert any("finds no page" in fault for fault in faults(site(tmp_path, "", check.FOUND[1:])))
    every = (*check.FOUND, check.NOT_FOUND)
    assert any(check.NOT_FOUND in fault for fault in faults(site(tmp_path, "", every)))


def test_the_sidebar_has_the_pages_of_the_index_in_their_order(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / sidebar.INDEX).write_text(
        "# Documents\n\n[x](elsewhere.md)\n\n## Guide: use\n\n| [B](b.md) | [a](a.md#x) |\n"
        "| [c](../apps/c.md), [again](b.md) |\n\n## Results\n\n| [d](r/d.md) |\n"
    )
    assert sidebar.sections(tmp_path) == {
        "Guide": ["docs/b", "apps/c"],
        "Results": ["docs/r/d"],
    }
    assert sidebar.outside(tmp_path) == ["apps/c.md"]
    assert ":caption: Guide\n\ndocs/b\napps/c\n" in sidebar.trees(tmp_path)


def test_the_index_of_the_documents_has_each_of_them() -> None:
    root = SITE.parent.parent
    known = {page for pages in sidebar.sections(root).values() for page in pages}
    every = {str(path.relative_to(root).with_suffix("")) for path in (root / "docs").rglob("*.md")}
    assert sorted(every - known - {"docs/README"}) == []
