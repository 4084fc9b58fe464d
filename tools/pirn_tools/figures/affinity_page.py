# SPDX-License-Identifier: MIT
"""The page of `pirn bench figures affinity`: its head, and the order of its sections."""

from __future__ import annotations

from collections.abc import Mapping

from pirn_tools.figures import affinity_here as here
from pirn_tools.figures import affinity_loss as loss
from pirn_tools.figures import affinity_more as more
from pirn_tools.figures import affinity_survey as survey
from pirn_tools.figures import affinity_thesis as thesis
from pirn_tools.figures import markdown
from pirn_tools.figures.affinity_counts import misses, moves
from pirn_tools.figures.affinity_model import PAIRS, PLAIN, Points, pairs, wavemix
from pirn_tools.figures.affinity_real import Real
from pirn_tools.figures.affinity_schedules import Seen
from pirn_tools.figures.affinity_serial import serials, speedups
from pirn_tools.figures.affinity_survey import Survey
from pirn_tools.figures.affinity_times import times

HEAD = """\
This page shows what task affinity gains: a thread that reads data is placed where the data has just
been written ([rules](../guide/affinity.md#where-a-consumer-runs)). It repeats the experiments of a
thesis that added it to Linux, with the thesis' numbers beside ours: {name}.

The machines of the thesis are modelled: the simulator runs Pirn's own policies on modelled caches
and in modelled time ([what it leaves out](../internals/model.md#what-is-left-out)). So compare ways
to schedule with each other, not microseconds with the thesis'. A figure is a mean over {seeds}
seeds, with 64 cores over {few}. [affinity.csv](affinity.csv) has all of them. Only the sections
that say so have runs on a real machine.

The program is `wavemix`: four waves fill a buffer each; mixer0 reads two of these, mixer1 the other
two, and mixer2 reads the buffers of both. Ways to schedule:

- `steal`, `single`, `dist`: a policy without affinity. The thesis compares with Linux' real-time
  class, whose CPUs push and pull threads until each runs the most urgent ones.
- `affinity=old`: the rule before the thesis improved it. `affinity=declared`: the improved one. The
  tasks declare whom they read from.
- `affinity=auto`: nothing is declared; the rule learns from wake-ups.
- `nodes=off`: the runtime does not know which CPUs of the Xeon are on one die.
- `--pin all`, `--pin waves`: tasks tied to CPUs, as in the thesis' Table 3.2. `--serial`: one CPU.

A2S is mean + 2 sigma. An improvement is positive where A2S is smaller, as in the thesis' tables;
its equation 3.2 has the other sign."""


def page(
    found: Points,
    real: Real,
    surveyed: Survey,
    seen: Mapping[tuple[str, str], Seen],
    facts: Mapping[str, str],
) -> str:
    seeds = len(found[wavemix(PLAIN, "xeon", thesis.BUFFERS[0])].seeds)
    few = len(found[pairs(PLAIN, PAIRS[0])].seeds)
    parts = [
        markdown.begin("Task affinity", "affinity", "/affinity_page.py"),
        HEAD.format(name=thesis.NAME, seeds=seeds, few=few),
        markdown.facts(facts),
        more.short(found),
        *times(found),
        *serials(found),
        *speedups(found),
        *misses(found),
        *moves(found),
        *more.inference(found, real),
        *more.large(found),
        *more.price(real),
        *more.schedules(seen),
        *here.section(real),
        *loss.losses(found),
        *survey.section(surveyed),
    ]
    return "\n\n".join(parts) + "\n"
