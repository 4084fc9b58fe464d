# SPDX-License-Identifier: MIT
"""Two diagrams beside each other in one file."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from pirn_tools.plotting import figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@contextlib.contextmanager
def two_figures(path: Path, width: float, height: float) -> Iterator[tuple[Axes, Axes]]:
    """Axes of both; leaving the block writes the file."""
    with figure(path, width, height) as whole:
        made = whole.figure
        whole.remove()
        left, right = made.subplots(1, 2)
        yield left, right
