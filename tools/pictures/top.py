# SPDX-License-Identifier: MIT
"""The picture of `pirn top` in the README: what it writes to a terminal, drawn.

    .venv/bin/python tools/pictures/top.py -o docs/guide/img/top.png -- PROGRAM ARGS

runs the program, then `pirn top` on a pseudo-terminal, and draws the screen that stands there after
some seconds. The program has to say a line first, and to run until its standard input ends. `make
top-picture` does that with tests/live/waits.c.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

from matplotlib import get_data_path
from PIL import Image, ImageDraw, ImageFont
from rich.ansi import AnsiDecoder
from rich.color import ColorTriplet
from rich.console import Console
from rich.terminal_theme import DIMMED_MONOKAI
from rich.text import Text

ROWS, COLUMNS = 20, 112
PIXELS = 26  # of a letter's height; the picture is shown at about half its size
EDGE = 18
WAIT = 3.0  # s, so that rates and shares have settled
HOME = "\x1b[H"
THEME = DIMMED_MONOKAI
PAPER, INK = (30, 32, 36), (214, 216, 218)


def screen(arguments: list[str], seconds: float) -> list[Text]:
    """The lines that a command leaves on a terminal after so long; then it is asked to quit."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("4H", ROWS, COLUMNS, 0, 0))
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "", "LINES": ""}
    command = subprocess.Popen(
        arguments, stdin=slave, stdout=slave, stderr=slave, env=environment, start_new_session=True
    )
    written, end = b"", time.monotonic() + seconds
    while time.monotonic() < end:
        if select.select([master], [], [], 0.1)[0]:
            written += os.read(master, 65536)
    os.write(master, b"q")
    if command.wait(timeout=20) != 0:
        raise SystemExit(f"{' '.join(arguments)} failed: {written.decode(errors='replace')}")
    # Each screen begins at the top; the last one that is whole counts.
    frames = written.decode(errors="replace").split(HOME)
    if len(frames) < 3:
        raise SystemExit(f"nothing to draw after {seconds:g} s")
    text = re.sub(r"\r|\x1b\[\?[0-9;]*[a-z]|\x1b\[[0-9;]*[ABCDEFGHJK]", "", frames[-2])
    return list(AnsiDecoder().decode(text.rstrip()))


def colour(triplet: ColorTriplet) -> tuple[int, int, int]:
    return triplet.red, triplet.green, triplet.blue


def draw(lines: list[Text], output: Path) -> None:
    """Cell by cell, in colours like a terminal's."""
    folder = Path(get_data_path()) / "fonts" / "ttf"
    fonts = {
        bold: ImageFont.truetype(str(folder / f"DejaVuSansMono{'-Bold' * bold}.ttf"), PIXELS)
        for bold in (False, True)
    }
    wide, high = fonts[False].getlength("m"), round(PIXELS * 1.35)
    size = (round(COLUMNS * wide) + 2 * EDGE, len(lines) * high + 2 * EDGE)
    picture = Image.new("RGB", size, PAPER)
    pen = ImageDraw.Draw(picture)
    console = Console(width=COLUMNS)
    for row, line in enumerate(lines):
        column = 0
        for segment in line.render(console):
            style = segment.style
            ink, paper, bold = INK, PAPER, False
            if style is not None:
                bold = bool(style.bold)
                if style.color is not None:
                    ink = colour(style.color.get_truecolor(THEME))
                if style.dim:
                    ink = (140, 144, 150)
                if style.reverse:
                    ink, paper = paper, ink
            text = segment.text.rstrip("\r\n")
            left, top = EDGE + column * wide, EDGE + row * high
            if paper != PAPER:
                pen.rectangle((left, top, left + len(text) * wide, top + high - 1), fill=paper)
            pen.text((left, top + 2), text, font=fonts[bold], fill=ink)
            column += len(text)
    output.parent.mkdir(parents=True, exist_ok=True)
    picture.save(output, optimize=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("program", nargs="+")
    options = parser.parse_args()
    with subprocess.Popen(options.program, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as shown:
        assert shown.stdout is not None  # noqa: S101
        shown.stdout.readline()  # it says that it has begun
        try:
            command = [sys.executable, "-m", "pirn_tools", "top", "-p", str(shown.pid), "-d", "0.5"]
            draw(screen(command, WAIT), options.output)
        finally:
            shown.kill()
    return 0


if __name__ == "__main__":
    sys.exit(main())
