# SPDX-License-Identifier: MIT
"""Lists of the boards that other files hold or ask for, all made of the descriptions.

usage: python -m pirn_tools.board.lists COMMAND

  check                          presets and documents are as the descriptions say
  write                          makes them so (make board-lists)
  names [--for WHAT] [WORD...]   names of boards, for the Makefile
  setup [WORD...]                what tools/setup-boards is called with for them

WORD is a board's name, or a family's; none: all.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import click

from pirn_tools import paths
from pirn_tools.board import boards, configure, targets
from pirn_tools.board.boards import Board
from pirn_tools.errors import UserError, did_you_mean, listing

PRESETS = Path("cmake/presets/boards.json")
DOCUMENT = Path("docs/guide/boards.md")
# What `make` asks for: check-boards, check-chip, one of each family, board-apps, board-sections,
# board-size.
PURPOSES = ("check", "chip", "first", "programs", "sections", "sizes")
BEGIN, END = "<!-- boards: begin (make board-lists) -->", "<!-- boards: end -->"


def ported(root: Path) -> list[Board]:
    """The tree's boards that have libraries, by family, the one of `make check` first."""
    place = boards.folder(root)
    found = [board for board in boards.load_all([place]) if board.image is not None]
    order = targets.families(targets.load())
    return sorted(found, key=lambda b: (order.index(b.target.family), not b.tests.check, b.name))


def presets(chosen: Sequence[Board]) -> str:
    configures, builds, tests = [], [], []
    for board in chosen:
        name, what = board.name, board.description
        configures.append(
            {
                "name": name,
                "displayName": f"board: {what}",
                "inherits": "board",
                "binaryDir": "${sourceDir}/build/${presetName}",
                "cacheVariables": {"PIRN_BOARD": name},
            }
        )
        builds.append(
            {"name": name, "displayName": f"builds build/{name}", "configurePreset": name}
        )
        tests.append(
            {
                "name": name,
                "displayName": f"tests on {name}",
                "inherits": "common",
                "configurePreset": name,
            }
        )
    whole = {
        "version": 6,
        "vendor": {"pirn": "Made of port/board/*/board.toml by make board-lists: do not edit."},
        "include": ["common.json"],
        "configurePresets": configures,
        "buildPresets": builds,
        "testPresets": tests,
    }
    return json.dumps(whole, indent=2) + "\n"


def table(chosen: Sequence[Board]) -> str:
    lines = ["| board | | family | target | CPUs |", "| --- | --- | --- | --- | --: |"]
    for board in chosen:
        target = board.target
        lines.append(
            f"| `{board.name}` | {board.description} | {target.family} | `{target.name}` "
            f"| {board.cpus_text} |"
        )
    return "\n".join(lines)


def wanted(root: Path) -> dict[Path, str]:
    """File → what is to be in it."""
    chosen = ported(root)
    for board in chosen:
        configure.image_of(board, boards.folder(root) / board.name / boards.FILE)
    text = (root / DOCUMENT).read_text()
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise UserError(f'{DOCUMENT}: no list of boards between "{BEGIN}" and "{END}"')
    return {
        root / PRESETS: presets(chosen),
        root / DOCUMENT: f"{before}{BEGIN}\n{table(chosen)}\n{END}{after}",
    }


def stale(root: Path) -> list[Path]:
    return [
        path for path, text in wanted(root).items() if not path.exists() or path.read_text() != text
    ]


@click.group()
def main() -> None:
    """Lists of boards."""


@main.command()
def write() -> None:
    """Write the lists."""
    for path, text in wanted(paths.project()).items():
        path.write_text(text)


@main.command()
def check() -> None:
    """Compare the lists with the descriptions."""
    old = stale(paths.project())
    for path in old:
        click.echo(f"{paths.short(path)}: not as port/board/*/board.toml say: make board-lists")
    click.echo(f"check boards: {f'{len(old)} problem(s)' if old else 'ok'}")
    raise SystemExit(1 if old else 0)


@main.command()
@click.option("--for", "purpose", type=click.Choice(PURPOSES))
@click.argument("words", nargs=-1)
def names(purpose: str | None, words: tuple[str, ...]) -> None:
    """Print names of boards."""
    chosen = choose(ported(paths.project()), words, purpose)
    click.echo(" ".join(board.name for board in chosen))


@main.command()
@click.argument("words", nargs=-1)
def setup(words: tuple[str, ...]) -> None:
    """Print options for tools/setup-boards."""
    chosen = choose(ported(paths.project()), words)
    options = [f"--target {board.target.name}" for board in chosen]
    options += [f"--group {group}" for board in chosen if (group := packages(board))]
    click.echo(" ".join(dict.fromkeys(options)))


def packages(board: Board) -> str:
    """The group of packages that its runner needs."""
    return board.runner.packages if board.runner else ""


def choose(every: Sequence[Board], words: Sequence[str], purpose: str | None = None) -> list[Board]:
    """Boards and families that are named, or all; of those, the ones for a purpose."""
    families = list(dict.fromkeys(board.target.family for board in every))
    valid = [*families, *(board.name for board in every)]
    for word in words:
        if word not in valid:
            close = did_you_mean(word, valid)
            raise UserError(f'no board "{word}"{close} (valid: {listing(valid)})', status=2)
    named = [b for b in every if not words or b.name in words or b.target.family in words]
    firsts = {board.target.family: board for board in reversed(named)}
    return [board for board in named if _is_for(board, purpose, firsts)]


def _is_for(board: Board, purpose: str | None, firsts: dict[str, Board]) -> bool:
    return {
        None: True,
        "check": board.tests.check,
        "chip": board.tests.chip,
        "first": firsts[board.target.family] is board,
        "programs": board.bench.programs,
        "sections": board.bench.sections > 0,
        "sizes": board.bench.sizes,
    }[purpose]


if __name__ == "__main__":
    main(prog_name="boards")
