# SPDX-License-Identifier: MIT
"""Counters in the Prometheus text format: well-formed, and those that happened.

Usage: check.py STATS [EMULATOR...]
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
SAMPLE = re.compile(rf'({NAME})(?:\{{((?:[a-zA-Z_]\w*="[^"\\\n]*",?)*)\}})? (\d+(?:\.\d+)?)\n')
TYPES = ("counter", "gauge", "untyped")


def parse(text: str) -> dict[str, dict[str, float]]:
    """Metrics by name and labels; each family has HELP and TYPE once, in front of its samples."""
    metrics: dict[str, dict[str, float]] = {}
    family = kind = ""
    helped = ""
    for line in text.splitlines(keepends=True):
        words = line.split(" ", 3)
        if line.startswith("# HELP "):
            assert words[2] not in metrics, f"{words[2]} twice"
            helped = words[2]
        elif line.startswith("# TYPE "):
            family, kind = words[2], words[3].strip()
            assert family == helped, line
            assert kind in TYPES, line
            assert (kind == "counter") == family.endswith("_total"), line
            metrics[family] = {}
        else:
            sample = SAMPLE.fullmatch(line)
            assert sample, line
            assert sample[1] == family, line
            assert sample[2] not in metrics[family], line
            metrics[family][sample[2]] = float(sample[3])
    assert text.endswith("\n"), text
    assert all(metrics.values()), metrics
    return metrics


def run(command: list[str], sched: str) -> tuple[str, str]:
    """The program's output, and the library's at the end."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "counters.prom"
        env = {
            **os.environ,
            "PIRN_SCHED": sched,
            "PIRN_CPUS": "2",
            "PIRN_STATS": f"prometheus:{path}",
        }
        done = subprocess.run(command, env=env, check=True, capture_output=True, text=True)
        return done.stdout, path.read_text()


def main() -> None:
    program, *emulator = sys.argv[1:]
    for sched in ("steal", "single", "central", "dist", "request"):
        printed, written = map(parse, run([*emulator, program], sched))
        assert printed.keys() == written.keys(), sched
        for metrics in (printed, written):
            assert metrics["pirn_cpus"] == {None: 2}, metrics["pirn_cpus"]
            assert sum(metrics["pirn_threads_total"].values()) == 51, sched  # and main
            assert metrics["pirn_threads_total"].keys() == {'cpu="0"', 'cpu="1"'}, sched
            assert metrics["pirn_threads_alive"] == {None: 1}, sched
            assert sum(metrics["pirn_switches_total"].values()) >= 50, sched
            assert 0 < metrics["pirn_uptime_seconds"][None] < 100, sched
            idle = sum(metrics["pirn_idle_seconds_total"].values())
            assert idle < 2 * metrics["pirn_uptime_seconds"][None] + 1, sched
        label = next(iter(printed["pirn_info"]))
        assert f'sched="{sched}"' in label, label
        for family, samples in printed.items():
            if family.endswith("_total"):
                for labels, value in samples.items():
                    assert value <= written[family][labels], (family, labels)
    print("counted")


if __name__ == "__main__":
    main()
