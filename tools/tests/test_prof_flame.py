# SPDX-License-Identifier: MIT
"""The flame graph: what is as wide as what, and in a browser zoom, search, what a box is."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import browser
import pytest
from browser import needs_browser
from profiles import Writer, example, needs_cc, prof, program

pytestmark = needs_cc
SVG = "{http://www.w3.org/2000/svg}"

# Goes into the picture behind its own script.
DRIVER = """
<script><![CDATA[
const seen = {};
const named = (name) => boxes.find((box) => box.name === name);
const click = (box) => box.group.dispatchEvent(new MouseEvent('click', { bubbles: true }));
const over = (box) => box.group.dispatchEvent(new MouseEvent('mouseover', { bubbles: true }));
const width = (name) => Math.round(+named(name).rect.getAttribute('width'));
const is = (box, what) => box.group.classList.contains(what);
const visible = () => boxes.filter((box) => !is(box, 'gone')).map((box) => box.name);
const search = (words) => {
    $('search').value = words;
    $('search').dispatchEvent(new Event('input'));
    const found = boxes.filter((box) => is(box, 'found')).map((box) => box.name);
    return [found, $('matched').textContent];
};
try {
@STEPS@
} catch (error) { seen.error = String(error.stack); }
const out = document.createElementNS('http://www.w3.org/2000/svg', 'desc');
out.id = 'seen';
out.textContent = JSON.stringify(seen);
document.documentElement.append(out);
]]></script>
</svg>
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return example(program("-no-pie")).save(tmp_path / "p.prof")


def flame(file: Path, *words: object) -> Path:
    output = file.with_suffix(".svg")
    result = prof("flame", file, "-o", output, *words)
    assert result.exit_code == 0, result.output
    return output


def widths(picture: Path) -> dict[str, float]:
    """Of each box its share, by what it says; those of a name are added up."""
    found: dict[str, float] = {}
    for group in ElementTree.parse(picture).iter(f"{SVG}g"):  # noqa: S314, it is our own
        title = group.findtext(f"{SVG}title")
        if title is not None:
            name = re.split(r" - [\d,]+ (?:samples|calls) ", title)[0]
            found[name] = found.get(name, 0.0) + float(group.attrib["data-w"])
    return found


def test_boxes_are_as_wide_as_their_samples(file: Path) -> None:
    found = widths(flame(file))
    assert found["all"] == 1
    assert found["threads of worker (2)"] == pytest.approx(0.5)
    assert found["middle"] == pytest.approx(0.63)
    assert found["leaf"] == pytest.approx(0.48)
    assert found["again"] == pytest.approx(0.28)  # two boxes, one above the other


def test_boxes_are_as_wide_as_their_calls_when_asked(file: Path) -> None:
    found = widths(flame(file, "--by", "calls", "--thread", "main"))
    assert found["main"] == pytest.approx(1)
    assert found["leaf"] == pytest.approx(0.5)  # 2 of main, middle, leaf, leaf


def test_picture_holds_everything_itself(file: Path) -> None:
    text = flame(file).read_text()
    outside = set(re.findall(r"https?://[^\"' ]*", text))
    assert outside == {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xhtml"}
    assert "href=" not in text
    assert "src=" not in text


def test_names_are_no_markup(tmp_path: Path) -> None:
    text = "template <class T> int f(T n) { return n; }\nint main() { return f<int>(0); }\n"
    w = Writer(program("-no-pie", "-fno-inline", text=text, suffix=".cc"))
    w.sample(w.call(w.root(name="</svg>&"), "_Z1fIiEiT_", "main+5", 3), "_Z1fIiEiT_", 1)
    found = widths(flame(w.save(tmp_path / "p.prof"), "--merge", "none", "--title", "<&>"))
    assert "int f<int>(int)" in found


def test_deep_trees_are_cut_and_said(tmp_path: Path) -> None:
    w = Writer(program("-no-pie"))
    node = w.root()
    for _ in range(3000):
        node = w.call(node, "again", "again+15")
    w.sample(node, "again+3", 5)
    file = w.save(tmp_path / "p.prof")
    result = prof("flame", file, "-o", tmp_path / "f.svg")
    assert "2,751 nodes are deeper than 250 levels" in result.stderr
    assert widths(tmp_path / "f.svg")["again"] == pytest.approx(249)


def test_nothing_to_draw_is_said(tmp_path: Path) -> None:
    w = Writer(rate=0)
    w.call(w.root(), 0x1000, 0)
    file = w.save(tmp_path / "p.prof")
    result = prof("flame", file, "-o", tmp_path / "f.svg")
    assert result.exit_code == 1
    assert "no samples in this part of the profile; --by calls" in result.output
    assert prof("flame", file, "-o", tmp_path / "f.png").exit_code == 2


def used(file: Path, steps: str) -> dict[str, object]:
    text = flame(file).read_text().strip().removesuffix("</svg>")
    return browser.browse(file.with_name("used.svg"), text + DRIVER.replace("@STEPS@", steps))


@needs_browser
def test_click_zooms_and_shows_all_again(file: Path) -> None:
    seen = used(
        file,
        """
        seen.before = [width('worker'), width('main'), $('all').style.display];
        click(named('worker'));
        seen.inside = [width('worker'), visible(), $('all').style.display];
        seen.dim = named('threads of worker (2)').group.classList.contains('parent');
        click(named('again'));
        seen.again = [width('again'), width('worker')];
        $('all').dispatchEvent(new MouseEvent('click'));
        seen.after = [width('worker'), width('main'), $('all').style.display];
        """,
    )
    assert seen["before"] == [590, 413, "none"]
    assert seen["inside"][0] == 1180
    assert sorted(seen["inside"][1]) == sorted(
        ["all", "threads of worker (2)", "worker", "middle", "leaf", "again", "again"]
    )
    assert seen["inside"][2] == ""
    assert seen["dim"] is True
    assert seen["again"] == [1180, 1180]
    assert seen["after"] == seen["before"]


@needs_browser
def test_search_marks_functions_and_adds_them_up_once(file: Path) -> None:
    seen = used(
        file,
        """
        seen.leaf = search('leaf');
        seen.again = search('^AGAIN$');
        seen.some = search('l.*[ae]');
        seen.bad = search('(');
        seen.none = search('');
        """,
    )
    assert seen["leaf"] == [["leaf", "leaf"], "found: 48.00%"]
    assert seen["again"] == [["again", "again"], "found: 20.00%"]
    assert "plain" in seen["some"][0]
    assert "not a regular expression" in seen["bad"][1]
    assert seen["none"] == [[], ""]


@needs_browser
def test_box_under_the_mouse_is_described(file: Path) -> None:
    seen = used(
        file,
        """
        over(named('again'));
        seen.again = $('details').textContent;
        named('again').group.dispatchEvent(new MouseEvent('mouseout', { bubbles: true }));
        seen.left = $('details').textContent;
        """,
    )
    assert re.fullmatch(
        r"again - 20 samples \(20\.00%\), own 12, 6 calls - calls\d+", seen["again"]
    )
    assert seen["left"] == ""
