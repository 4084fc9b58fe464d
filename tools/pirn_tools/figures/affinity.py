# SPDX-License-Identifier: MIT
"""`pirn bench figures affinity`: task affinity, in the simulator as a model of performance and on
the machine at hand, beside the thesis that added it to Linux.

affinity_thesis.py has the thesis' numbers and its estimate; affinity_model.py, affinity_real.py and
affinity_survey.py the runs; affinity_plots.py, affinity_schedules.py and affinity_waveform.py the
pictures; affinity_page.py the page, whose sections are in affinity_times.py, affinity_serial.py,
affinity_counts.py, affinity_more.py, affinity_here.py, affinity_loss.py and affinity_survey.py.
"""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from pirn_tools import machine, paths
from pirn_tools.figures import (
    affinity_model,
    affinity_page,
    affinity_plots,
    affinity_real,
    affinity_schedules,
    affinity_survey,
    on_chip,
)

SEEDS, SHORT_SEEDS = 10, 2
ROUNDS, SHORT_ROUNDS = 7, 2


def reproduce(root: Path, folder: Path, jobs: int, short: bool, console: Console) -> None:
    build = paths.build_dir(root)
    programs = affinity_real.Programs(build)
    programs.check()
    seeds, rounds = (SHORT_SEEDS, SHORT_ROUNDS) if short else (SEEDS, ROUNDS)
    runner = affinity_model.Runner(programs.model, seeds, root / "build" / "affinity")
    found = affinity_model.run_all(runner, jobs, console)
    real = affinity_real.measure(programs, rounds, jobs, console)
    folder.mkdir(parents=True, exist_ok=True)
    affinity_model.write_csv(folder / "affinity.csv", found.values())
    surveyed = affinity_survey.measure(build)
    affinity_plots.draw(found, folder / "img")
    affinity_schedules.draw(programs.model, folder / "img")
    seen = affinity_schedules.look(programs.model)
    facts = {
        "command": f"`pirn bench figures affinity{' --short' if short else ''}`",
        "commit": machine.commit(root),
        "model": f"{len(found)} cases, seeds 1 to {seeds}, "
        f"{affinity_model.Case('', '', 0).samples} samples each (`pairs`: "
        f"{affinity_model.PAIRS_SAMPLES} samples, "
        f"{min(seeds, affinity_model.PAIRS_SEEDS)} seeds)",
        "machine at hand": machine.processor(),
        "compiler": machine.compiler(build),
        "load averages": real.load,
    }
    text = affinity_page.page(found, real, surveyed, seen, facts)
    on_chip.write(folder / "affinity.md", text, console)
