# SPDX-License-Identifier: MIT
"""Runs in the guest (start.sh): the plan's tests and programs. Results go to a folder of the host.

    python3 -m pirn_tools.guest.inside FOLDER

It has the guest's Python alone, with click.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pirn_tools import children
from pirn_tools.guest import results
from pirn_tools.guest.cases import Case

BEAT = 5.0  # seconds
TAIL = 65536  # bytes of an output that expressions see


class Writer:
    """Appends lines of results, from several threads."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "results.jsonl"
        self.lock = threading.Lock()

    def write(self, kind: str, **values: Any) -> None:  # noqa: ANN401 - of JSON
        with self.lock, self.path.open("a") as out:
            out.write(results.line(kind, **values))


def beat(path: Path) -> None:
    """Tells the host that this system still runs."""
    count = 0
    while True:
        count += 1
        path.write_text(f"{count}\n")
        time.sleep(BEAT)


def log_name(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.+-]", "_", name) + ".txt"


def run(case: Case, log: Path) -> tuple[str, float, str]:
    """The result, seconds, and what there is to say."""
    if case.missing:
        return results.MISSING, 0.0, case.missing
    program = Path(case.command[0])
    if program.is_absolute() and not program.exists():
        return results.MISSING, 0.0, f"the guest has no {program}"
    begin = time.monotonic()
    status = execute(case, log)
    seconds = time.monotonic() - begin
    result, detail = judge(case, status, tail(log))
    return result, seconds, detail


def execute(case: Case, log: Path) -> int | str | None:
    """The status; none after the limit; a reason if it could not start."""
    environment = {**os.environ, **case.environment}
    for name in ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE"):
        environment.pop(name, None)
    with log.open("wb") as out:
        try:
            child = subprocess.Popen(
                case.command,
                cwd=case.folder or None,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            return f"it cannot start: {error.strerror}"
    ended = children.ends(child, case.limit)
    os.killpg(child.pid, signal.SIGKILL)  # and what it left behind; it is not reaped yet
    status = child.wait()
    return status if ended else None


def tail(log: Path) -> str:
    with log.open("rb") as stream:
        size = stream.seek(0, os.SEEK_END)
        stream.seek(max(0, size - TAIL))
        return stream.read().decode(errors="replace")


def judge(case: Case, status: int | str | None, output: str) -> tuple[str, str]:
    """As ctest does: result, and what there is to say."""
    if status is None:
        return results.FAILED, f"not finished after {case.limit:.0f} s"
    if isinstance(status, str):
        return results.FAILED, status
    if case.skip_status is not None and status == case.skip_status:
        return results.SKIPPED, last_line(output)
    if any(re.search(each, output) for each in case.skips):
        return results.SKIPPED, last_line(output)
    if any(re.search(each, output) for each in case.fails):
        return results.FAILED, "its output has what it must not have"
    good = status == 0
    if case.passes:
        good = any(re.search(each, output) for each in case.passes)
    if good != case.will_fail:
        return results.PASSED, ""
    if case.will_fail:
        return results.FAILED, "it had to fail"
    if case.passes:
        return results.FAILED, f"its output does not match: {last_line(output)}"
    return results.FAILED, f"{ending(status)}: {last_line(output)}"


def ending(status: int) -> str:
    if status < 0:
        try:
            return f"killed by {signal.Signals(-status).name}"
        except ValueError:
            return f"killed by signal {-status}"
    return f"exit status {status}"


def last_line(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return lines[-1][:200] if lines else "no message"


def run_tests(cases: Sequence[Case], jobs: int, logs: Path, writer: Writer) -> None:
    """So many at a time; those first, alone, that others need."""
    free = threading.Semaphore(jobs)
    turn = threading.Lock()  # a test that takes several places gets them at once

    def one(case: Case, places: int) -> None:
        try:
            writer.write(results.START, name=case.name)
            result, seconds, detail = run(case, logs / log_name(case.name))
            writer.write(
                results.TEST, name=case.name, result=result, seconds=seconds, detail=detail
            )
        finally:
            for _ in range(places):
                free.release()

    threads = []
    for case in cases:
        places = jobs if case.first else min(case.jobs, jobs)
        with turn:
            for _ in range(places):
                free.acquire()
        threads.append(threading.Thread(target=one, args=(case, places)))
        threads[-1].start()
    for thread in threads:
        thread.join()


def run_programs(plan: dict[str, Any], writer: Writer) -> None:
    from pirn_tools.world.compare import NPTL, Setting, compare
    from pirn_tools.world.plan import load

    folder = Path(plan["world"])
    setting = Setting(
        Path(plan["library"]),
        Path(plan["inputs"]),
        Path("/tmp/keep"),  # noqa: S108 - the guest's
        folder,
        float(plan["scale"]),
    )
    for program in load(folder):
        if program.name not in plan["programs"]:
            continue
        writer.write(results.START, name=program.name)
        outcomes = compare(program, setting, int(plan["rounds"]), lambda what: None)
        for threads, outcome in outcomes.items():
            if outcome.seconds or outcome.failure or threads == NPTL:
                seconds = min(outcome.seconds, default=0.0)
                writer.write(
                    results.PROGRAM,
                    name=program.name,
                    threads=threads,
                    failure=outcome.failure,
                    seconds=seconds,
                )


def main(folder: Path) -> None:
    plan = json.loads((folder / "plan.json").read_text())
    writer = Writer(folder)
    threading.Thread(target=beat, args=(folder / "alive",), daemon=True).start()
    writer.write(results.BEGIN, kernel=os.uname().release, cpus=os.cpu_count())
    cases = [Case.read(one) for one in plan["tests"]]
    run_tests(cases, int(plan["jobs"]), folder / "logs", writer)
    if plan["programs"]:
        run_programs(plan, writer)
    writer.write(results.END)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
