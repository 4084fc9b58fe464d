# SPDX-License-Identifier: MIT
"""Runs wavemix, and checks its output, its table of samples, and its errors.

usage: check_wavemix.py runs|faults|limits|affinity|missing [LIBRARY] PROGRAM...

runs      sizes of buffers and ways to synchronise: the same output as with --serial, and a table
          in which no thread begins before its buffers are free
faults    wrong command lines
limits    classes and pins, which the system may refuse
affinity  the dependencies that are declared, with the preloaded LIBRARY that prints them
missing   --affinity where no library has it

PROGRAM: the command in front of the program's own arguments. No check depends on how long a run
takes.
"""

from __future__ import annotations

import csv
import errno
import itertools
import os
import re
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

READS = {
    "mixer0": ("wave0", "wave1"),
    "mixer1": ("wave2", "wave3"),
    "mixer2": ("mixer0", "mixer1"),
}
THREADS = ("wave0", "wave1", "wave2", "wave3", *READS)
SAMPLES, WARMUP = 60, 7
# Options, and the checksum that they always give: it was computed once, with --serial.
RUNS = {
    "--buffer=2": "6566217f577f13a9",
    "--buffer=4K": "451f08c7ceff7226",
    "--buffer=5002 --work=3": "b196a86e2f4b526e",
    "--buffer=64K": "2796969f71ca7ae9",
}
FAULTS = {
    "--buffer=0": "--buffer=0: not an even number of bytes from 2 to 16777216",
    "--buffer=-4K": "--buffer=-4K: not an even number",
    "--buffer=4097": "--buffer=4097: not an even number",
    "--buffer=17M": "--buffer=17M: not an even number",
    "--buffer=4KB": "--buffer=4KB: not an even number",
    "--buffer=99999999999999999999": "--buffer=99999999999999999999: not an even number",
    "--buffer=large": "--buffer=large: not an even number",
    "--samples=0": "--samples=0: not a whole number from 1 to 1000000",
    "--warmup=-1": "--warmup=-1: not a whole number from 0 to 1000000",
    "--work=0": "--work=0: not a whole number from 1 to 1000000",
    "--sync=spin": "--sync=spin: not one of: sem, cond",
    "--class=idle": "--class=idle: not one of: other, fifo, rr",
    "--pin=some": "--pin=some: not one of: none, waves, all",
    "--priority=100": "--priority=100: not a whole number from 0 to 99",
    "--priority=5": "--priority=5: class other has priority 0 only; add --class=fifo",
    "--class=rr --priority=0": "--priority=0: class rr has the priorities 1 to 99",
    "--serial --affinity": "--serial and --affinity: one thread has nobody to depend on",
    "--serial --pin=waves": "--serial and --pin=waves: there are no waves to pin",
    "--serial --sync=cond": "--serial and --sync=cond: one thread waits for nobody",
    "extra": "'extra': one operand too many",
    "--bogus": "'--bogus': no such option",
}


def check(good: bool, what: str, said: str = "") -> None:
    if not good:
        sys.exit(f"{what}\n{said}")


def run(program: list[str], options: str, before: list[str] | None = None) -> tuple[int, str, str]:
    done = subprocess.run(
        [*(before or []), *program, *options.split()], capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout, done.stderr


def run_well(program: list[str], options: str) -> dict[str, dict[str, str]]:
    """The values of each printed line, by thread; "" is the closing line."""
    status, said, errors = run(program, options)
    check(status == 0, f"status {status} with {options}", said + errors)
    lines = [re.findall(r"(\w+)=(\S+)", line) for line in said.splitlines()]
    found = {values.get("thread", ""): values for values in map(dict, lines)}
    check(list(found) == [*THREADS, ""], f"lines of {options}", said)
    return found


def near(a: float, b: float, tolerance: float = 0.002) -> bool:
    return abs(a - b) <= tolerance + 1e-6 * abs(a)


# ---- runs ----


def check_statistics(name: str, printed: dict[str, str], prefix: str, values: list[float]) -> None:
    mean = sum(values) / len(values)
    sigma = (sum((value - mean) ** 2 for value in values) / len(values)) ** 0.5
    ordered = sorted(values)
    median = (ordered[(len(values) - 1) // 2] + ordered[len(values) // 2]) / 2
    wanted = {"mean": mean, "sigma": sigma, "a2s": mean + 2 * sigma, "median": median}
    for what, value in wanted.items():
        said = printed[f"{prefix}{what}_us"]
        check(near(float(said), value, 0.005), f"{name}: {what} {said}, from the table {value}")


def check_order(rows: list[dict[str, str]]) -> None:
    """A thread begins after its inputs, and after its reader has ended the sample before.

    Times are rounded to 0.001, and the periods are added up, so ends are known to 0.1.
    """
    end = 0.0
    before: dict[str, float] = {}
    for row in rows:
        end += float(row["period_us"])
        start = end - float(row["sample_us"])
        begins = {t: start + float(row[f"{t}_begin_us"]) for t in THREADS}
        ends = {t: begins[t] + float(row[f"{t}_us"]) for t in THREADS}
        for reader, inputs in READS.items():
            for thread in inputs:
                check(begins[reader] > ends[thread] - 0.1, f"{reader} is early: {row}")
                check(begins[thread] > before.get(reader, start) - 0.1, f"{thread} is early: {row}")
        check(near(ends["mixer2"], end, 0.1), f"the sample's end: {row}")
        before = ends


def check_table(path: Path, printed: dict[str, dict[str, str]]) -> None:
    place = printed[""]["place"]
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    columns = [f"{t}_{what}" for t in THREADS for what in ("begin_us", "us", place)]
    check(list(rows[0]) == ["sample", "sample_us", "period_us", *columns], f"columns: {rows[0]}")
    check([row["sample"] for row in rows] == list(map(str, range(SAMPLES))), "numbers of samples")
    for name in ("sample", "period"):
        values = [float(row[f"{name}_us"]) for row in rows]
        check_statistics(name, printed[""], f"{name}_", values)
    total = 0
    for thread in THREADS:
        check_statistics(thread, printed[thread], "", [float(row[f"{thread}_us"]) for row in rows])
        places = [row[f"{thread}_{place}"] for row in rows]
        moves = sum(a != b for a, b in itertools.pairwise(places))
        check(printed[thread]["migrations"] == str(moves), f"{thread}: {moves} migrations")
        total += moves
    check(printed[""]["migrations"] == str(total), f"{total} migrations")
    check_order(rows)


def check_runs(program: list[str], folder: Path) -> None:
    table = folder / "samples.csv"
    for options, checksum in RUNS.items():
        for way in ("--serial", "--sync=sem", "--sync=cond"):
            words = f"{options} --samples={SAMPLES} --warmup={WARMUP} {way} --csv={table}"
            printed = run_well(program, words)
            said = printed[""]["checksum"]
            check(said == checksum, f"{words}: checksum {said}, not {checksum}")
            check_table(table, printed)
    # The first sample of all has none before it.
    printed = run_well(program, f"--samples={SAMPLES} --warmup=0 --csv={table}")
    check_table(table, printed)


# ---- errors ----


def check_faults(program: list[str]) -> None:
    for options, message in FAULTS.items():
        status, _, said = run(program, options)
        check(status == 2 and message in said, f"{options}: wanted: {message}", said)
    status, _, said = run(program, "--csv=/no-such-folder/file")
    check(status == 1 and "cannot write '/no-such-folder/file': No such file" in said, said)
    if Path("/dev/full").exists():
        status, _, said = run(program, "--samples=1 --csv=/dev/full")
        check(status == 1 and "cannot write '/dev/full': No space left" in said, said)
    status, said, _ = run(program, "--help")
    check(status == 0 and "--buffer=BYTES" in said, "help", said)


def check_missing(program: list[str]) -> None:
    status, said, errors = run(program, "--affinity")
    check(status == 1 and said == "", "no library has task affinity", said)
    check("--affinity: no library here provides task affinity" in errors, "message", errors)


def check_affinity(library: str, program: list[str]) -> None:
    preload = ["env", f"LD_PRELOAD={library}"]
    status, _, errors = run(program, "--samples=20 --affinity", preload)
    wanted = [f"add {reader} {thread}" for reader in READS for thread in READS[reader]]
    check(status == 0 and errors.splitlines() == wanted, "dependencies", errors)
    status, _, errors = run(program, "--samples=20", preload)
    check(status == 0 and errors == "", "nothing is declared without --affinity", errors)
    refusals = {
        errno.ELOOP: os.strerror(errno.ELOOP),
        errno.ENOSYS: "the scheduler of pirn-kernel is not loaded (pirn-kernel load)",
        errno.EPERM: "no privileges: only root may tell",
        errno.EACCES: "no privileges: only root may tell",
    }
    for error, reason in refusals.items():
        refusal = [*preload, f"AFFINITY_ERROR={error}"]
        status, _, errors = run(program, "--samples=20 --affinity", refusal)
        message = f"refuses that mixer0 depends on wave0: {reason}"
        check(status == 1 and message in errors, f"a refused dependency: {reason}", errors)


def check_class(program: list[str], name: str, priority: int) -> None:
    """Pirn permits it to all; the system's threads to some, and the message says who."""
    options = f"--samples=20 --class={name} --priority={priority}"
    status, said, errors = run(program, options)
    if status == 0:
        check(f"class={name} priority={priority} " in said, options, said)
        return
    allowed = resource.getrlimit(resource.RLIMIT_RTPRIO)[0]
    check(allowed < priority, f"{options}: the limit is {allowed}", errors)
    message = f"class {name} with priority {priority}: not permitted; it needs CAP_SYS_NICE"
    check(status == 1 and message in errors, options, errors)


def check_limits(program: list[str]) -> None:
    for name in ("fifo", "rr"):
        check_class(program, name, 7)
    cpus = len(os.sched_getaffinity(0))
    for pin in ("waves", "all"):
        status, said, errors = run(program, f"--samples=20 --pin={pin}")
        if cpus >= 4:
            check(status == 0 and f"pin={pin} " in said, f"--pin={pin}", errors)
        else:
            message = f"--pin={pin}: needs 4 CPUs; this process may use {cpus}"
            check(status == 1 and message in errors, message, errors)


def main() -> None:
    mode, *program = sys.argv[1:]
    if mode == "runs":
        with tempfile.TemporaryDirectory() as folder:
            check_runs(program, Path(folder))
    elif mode == "affinity":
        check_affinity(program[0], program[1:])
    else:
        {"faults": check_faults, "limits": check_limits, "missing": check_missing}[mode](program)


if __name__ == "__main__":
    main()
