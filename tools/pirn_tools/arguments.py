# SPDX-License-Identifier: MIT
"""Arguments that several commands share, and the message after writing a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from pirn_tools.paths import short

Function = TypeVar("Function", bound=Callable[..., Any])

FILE = click.argument("file", type=click.Path(path_type=Path))


# --output FILE: a page of docs/results.
page_option = click.option(
    "--output", type=click.Path(dir_okay=False, path_type=Path), help="Write the page here, too."
)


def output_option(text: str) -> Callable[[Function], Function]:
    """-o FILE."""
    return click.option(
        "-o",
        "--output",
        required=True,
        type=click.Path(dir_okay=False, path_type=Path),
        help=text,
    )


def done(output: Path) -> None:
    size = output.stat().st_size
    text = f"{size / 1e6:,.1f} MB" if size >= 1e6 else f"{size / 1e3:,.1f} kB"
    click.echo(f"{short(output)}: {text}", err=True)
