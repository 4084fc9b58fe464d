# SPDX-License-Identifier: MIT
"""OpenMP's threads on Pirn's."""

from __future__ import annotations

CHOICES = {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME", "KMP_LIBRARY"}


def waits(environment: dict[str, str]) -> None:
    """OpenMP's threads do not spin before they wait for their team, unless the user says how: they
    would keep the worker from the threads that they wait for."""
    if not CHOICES & environment.keys():
        environment["OMP_WAIT_POLICY"] = "passive"
