# SPDX-License-Identifier: MIT
"""The report's page in headless Chromium: real events, and what the page shows then."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import browser
import pytest
from browser import needs_browser
from synthetic import Writer, play

from pirn_tools.trace.model import Model, build
from pirn_tools.trace.read import load
from pirn_tools.trace.report import page

# Drives the page as a user does; what it sees goes into the document, which --dump-dom prints.
DRIVER = """
<script>
(async () => {
    await ready;
    const seen = {};
    const view = () => $('range').textContent;
    const mouse = (kind, x, y, more) => {
        const make = kind === 'wheel' ? WheelEvent : MouseEvent;
        const where = { bubbles: true, cancelable: true, ...at(x, y), ...more };
        canvas.dispatchEvent(new make(kind, where));
    };
    const at = (x, y) => {
        const box = canvas.getBoundingClientRect();
        return { clientX: box.left + x, clientY: box.top + y };
    };
    const type = (text) => {
        $('search').value = text;
        $('search').dispatchEvent(new Event('input'));
    };
    const pixels = () => new Set(new Uint32Array(canvas.getContext('2d')
        .getImageData(0, 0, canvas.width, canvas.height).data.buffer)).size;
    try {
@STEPS@
    } catch (error) { seen.error = String(error.stack); }
    const out = document.createElement('pre');
    out.id = 'seen';
    out.textContent = JSON.stringify(seen);
    document.body.append(out);
})();
</script>
"""


def browse(folder: Path, model: Model, steps: str) -> dict[str, Any]:
    """Opens the report from the disk, does the steps, returns what they have put into `seen`."""
    text = page(model).replace("</body>", DRIVER.replace("@STEPS@", steps) + "</body>")
    return browser.browse(folder / "report.html", text)


def model_of(folder: Path, data: bytes) -> Model:
    path = folder / "t.pirn"
    path.write_bytes(data)
    return build(load(path))


@pytest.fixture
def simple(tmp_path: Path) -> Model:
    """CPU 0 runs thread 5 from 0.5 to 500.5 µs, then 6 up to 1000.5 µs; CPU 1 idles."""
    w = Writer(2)
    w.switch(1, 1, "idle")
    w.event(0, "spawn", a=5, b=1, text="first <one>")
    w.event(0, "spawn", a=6, b=2, text="second")
    w.switch(0, 5, "idle")
    w.now += 1_000_000
    w.event(0, "block", small=1, a=0x1234)
    w.switch(0, 6, "block")
    w.now += 1_000_000
    w.anywhere(0, "mark", ab=42, text="frame")
    return model_of(tmp_path, w.bytes())


def test_page_holds_everything_itself(simple: Model) -> None:
    text = page(simple)
    assert "http://" not in text
    assert "https://" not in text
    assert "src=" not in text
    assert "first \\u003cone>" in text  # cannot end the script that it stands in
    assert "@" not in re.sub(r"@[a-z]", "", text.split("<script")[0])


@needs_browser
def test_page_shows_the_trace_and_its_tables(tmp_path: Path) -> None:
    writer, _ = play(cpus=2, events=3000, capacity=8192, slots=4096)
    model = model_of(tmp_path, writer.bytes())
    seen = browse(
        tmp_path,
        model,
        """
        seen.ready = document.body.dataset.ready;
        seen.tables = document.querySelectorAll('table').length;
        seen.rows = document.querySelectorAll('tbody tr.pick').length;
        seen.colours = pixels();
        seen.heading = document.querySelector('h1').textContent;
        """,
    )
    threads = [thread for thread in model.threads if not thread.idle]
    assert seen["ready"] == "yes"
    assert seen["tables"] == 4
    assert seen["rows"] == len(threads)
    assert seen["colours"] > 50
    assert f"{len(threads)} threads" in seen["heading"]


@needs_browser
def test_wheel_zooms_around_the_mouse_and_keys_move(tmp_path: Path, simple: Model) -> None:
    seen = browse(
        tmp_path,
        simple,
        """
        const x = toX(250000);
        seen.before = [view(), toX(250000)];
        for (let i = 0; i < 5; i++) mouse('wheel', x, 40, { deltaY: -100 });
        seen.after = [view(), toX(250000), scale() * 1000];
        canvas.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight', bubbles: true }));
        seen.moved = view();
        $('all').click();
        seen.all = view();
        mouse('mousedown', 600, 40); mouse('mousemove', 500, 40);
        window.dispatchEvent(new MouseEvent('mouseup'));
        seen.dragged = view();
        """,
    )
    assert seen["after"][0] != seen["before"][0]
    assert seen["after"][1] == pytest.approx(seen["before"][1], abs=1)
    assert seen["moved"] != seen["after"][0]
    assert seen["all"] == seen["before"][0]
    assert seen["dragged"] == seen["all"]  # nothing to move to: it is all there


@needs_browser
def test_hovering_tells_thread_state_and_event(tmp_path: Path, simple: Model) -> None:
    seen = browse(
        tmp_path,
        simple,
        """
        const hoverAt = (x, y) => {
            mouse('mousemove', x, y);
            return tip.hidden ? null : tip.textContent;
        };
        const key = meta.threads.findIndex((one) => one[0] === '5.1');
        const mark = dots.map((row) => data.eventNs[row]).find((ns) => ns > 900000);
        seen.lane = hoverAt(toX(250000), laneTop(0) + 12);
        seen.idle = hoverAt(toX(250000), laneTop(1) + 12);
        seen.line = hoverAt(toX(750000), lineTop(pinned.indexOf(key)) + 8);
        seen.event = hoverAt(toX(mark), laneTop(0) + LANE - 7);
        seen.outside = hoverAt(5, laneTop(0) + 12);
        """,
    )
    assert seen["lane"] == '5.1 "first <one>" on CPU 0\nfrom 500 ns for 500.0 µs'
    assert seen["idle"].startswith("idle on CPU 1")
    assert seen["line"].startswith('5.1 "first <one>" blocked: mutex\nfrom 500.5 µs for 500.0 µs')
    assert seen["event"].startswith('mark value 42, "frame"\nby 6.2 "second" at 1.00')
    assert seen["outside"] is None


@needs_browser
def test_search_finds_threads_by_name_and_number(tmp_path: Path, simple: Model) -> None:
    seen = browse(
        tmp_path,
        simple,
        """
        const buttons = () => [...document.querySelectorAll('#found button')];
        const found = () => buttons().map((one) => one.textContent);
        type('SECO'); seen.name = found();
        type('5'); seen.index = found();
        type('6.2'); seen.number = found();
        type('zzz'); seen.none = $('found').textContent;
        type('second');
        $('search').dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter' }));
        seen.chosen = meta.threads[chosen][0];
        seen.view = [view.toString() && $('range').textContent];
        mouse('click', LEFT + 5, lineTop(0) + 8);
        seen.lines = pinned.length;
        """,
    )
    assert seen["name"] == ['6.2 "second"']
    assert seen["index"] == ['5.1 "first <one>"']
    assert seen["number"] == ['6.2 "second"']
    assert seen["none"] == "no such thread"
    assert seen["chosen"] == "6.2"
    assert seen["lines"] == 1
