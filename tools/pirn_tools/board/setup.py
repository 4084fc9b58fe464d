# SPDX-License-Identifier: MIT
"""The part of tools/setup-boards that comes after the packages: C libraries, zlib's source."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import click

from pirn_tools.board import picolibc, sources, targets
from pirn_tools.errors import UserError


@click.command()
@click.option("--target", "names", multiple=True, default=("all",))
@click.option("--prefix", type=click.Path(file_okay=False, path_type=Path), required=True)
@click.option("--source", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--list", "list_only", is_flag=True)
@click.option("--quiet", is_flag=True)
def main(
    names: tuple[str, ...], prefix: Path, source: Path | None, list_only: bool, quiet: bool
) -> None:
    """Builds what is missing."""
    folders = picolibc.Folders(prefix.resolve())
    chosen = targets.choose(targets.load(), names)
    missing = [one for one in chosen if list_only or not picolibc.is_built(one, folders)]
    if list_only:
        _list(missing, folders)
        return
    if missing:
        tree = picolibc.fetch(folders, source, _say)
        for target in missing:
            picolibc.build(target, folders, tree, _say)
        shutil.rmtree(tree)
    has_sources = sources.is_there(folders)
    if not has_sources:
        sources.fetch(folders, _say)
    if missing or not has_sources or not quiet:
        _say(f"ready: {', '.join(one.name for one in chosen)} in {folders.prefix / 'picolibc'}")


def _list(chosen: list[targets.Target], folders: picolibc.Folders) -> None:
    for target in chosen:
        try:
            built = picolibc.is_built(target, folders)
        except UserError:  # there is no compiler yet
            built = False
        if not built:
            _say_item(f"picolibc for {target.name}", f"C library: {target.what}")
    if not sources.is_there(folders):
        _say_item(f"source of {sources.ZLIB}", "for the application dedup")


def _say(text: str) -> None:
    click.echo(f"setup: {text}")


def _say_item(name: str, purpose: str) -> None:
    click.echo(f"    {name:<24} {purpose}")


if __name__ == "__main__":
    try:
        main(prog_name="setup-boards")
    except OSError as error:
        click.echo(f"Error: {error.filename}: {error.strerror or error}", err=True)
        sys.exit(1)
