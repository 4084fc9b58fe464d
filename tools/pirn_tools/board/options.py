# SPDX-License-Identifier: MIT
"""The options that the commands about boards have in common."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

Function = TypeVar("Function", bound=Callable[..., Any])
DEFAULT = "riscv64-virt"


def boards_option(function: Function) -> Function:
    """--boards DIR, as `places`."""
    return click.option(
        "--boards",
        "places",
        multiple=True,
        type=click.Path(path_type=Path),
        metavar="DIR",
        help="A folder of boards, NAME/board.toml; PIRN_BOARDS names others.",
    )(function)


def ourselves() -> list[str]:
    """The words that start this command again."""
    script = Path(sys.argv[0])
    if script.name == "pirn":
        return (
            [str(script) if script.is_absolute() else f"./{script}"]
            if "/" in sys.argv[0]
            else ["pirn"]
        )
    return [sys.executable, "-m", "pirn_tools"]
