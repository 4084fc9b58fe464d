# SPDX-License-Identifier: MIT
"""What pirn-sim-model prints is sane: check_model.py PROGRAM.

Simulated times and counts are the same in each run of a seed, so they are compared exactly, or by
what must be larger on the machine that is modelled.
"""

from __future__ import annotations

import csv
import json
import subprocess
import sys

Row = dict[str, str]
LINE = 64
NUMBERS = ("mean_ns", "sigma_ns", "a2s_ns", "reads", "l1_read_misses", "migrations", "from_core")


def output(*arguments: str) -> str:
    return subprocess.run(
        [sys.argv[1], "--samples", "60", *arguments],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=100,
    ).stdout


def rows(*arguments: str) -> list[Row]:
    return list(csv.DictReader(output(*arguments, "--format", "csv").splitlines()))


def whole(*arguments: str) -> dict[str, float]:
    """The row of all threads."""
    row = rows(*arguments)[-1]
    columns = list(row)
    return {key: float(row[key]) for key in columns[columns.index("thread") + 1 :]}


def mean_time(seeds: int, *arguments: str) -> float:
    """The mean time of a sample over seeds."""
    found = rows(*arguments, "--seeds", str(seeds))
    times = [float(row["mean_ns"]) for row in found if row["thread"] == "all"]
    expect(len(times) == seeds, "a row of all threads for each seed")
    return sum(times) / seeds


def expect(condition: object, what: str) -> None:
    if not condition:
        sys.exit(f"FAILED: {what}")


def repeats() -> None:
    arguments = ("--topology", "i7", "--buffer", "8")
    seeds = rows(*arguments, "--seeds", "3")
    alone = rows(*arguments, "--seed", "2")
    expect(alone == [row for row in seeds if row["seed"] == "2"], "seed 2 differs after others")
    means = {row["mean_ns"] for row in seeds if row["thread"] == "all"}
    expect(len(means) > 1, "all seeds are alike")


def formats_agree() -> None:
    from_json = json.loads(output("--format", "json"))
    from_csv = rows()
    expect(len(from_json) == len(from_csv) == 8, "seven threads, and all")
    for a, b in zip(from_json, from_csv, strict=True):
        expect(a["thread"] == b["thread"], "other threads")
        for key in NUMBERS:
            expect(float(a[key]) == float(b[key]), f"{key} of {a['thread']} differs")


def wavemix() -> None:
    for topology in ("xeon", "i7"):
        for kb in (4, 64):
            common = ("--topology", topology, "--buffer", str(kb))
            lines = kb * 1024 // LINE * 60
            serial, steal = whole(*common, "--serial"), whole(*common)
            pinned = whole(*common, "--pin", "all")
            what = f"{topology}, {kb} KB"
            for run in (serial, steal, pinned):
                expect(run["reads"] == 6 * lines, f"{what}: a mixer reads two buffers")
                expect(run["writes"] == 7 * lines, f"{what}: each task fills its buffer")
            # Four CPUs gain 2 % with the small buffers on the Xeon, and single seeds lose.
            parallel = mean_time(40 if kb == 4 else 1, *common)
            expect(parallel < serial["mean_ns"], f"{what}: four CPUs are no faster")
            expect(parallel > serial["mean_ns"] / 4, f"{what}: faster than four CPUs")
            expect(serial["migrations"] == pinned["migrations"] == 0, f"{what}: pinned, and moves")
            expect(steal["migrations"] > 0, f"{what}: nothing moves")
            misses = pinned["l1_read_misses"]
            expect(misses == (3 if kb == 4 else 6) * lines, f"{what}: {misses} misses of the L1")
            if topology == "i7":
                expect(steal["llc_read_misses"] == 0, f"{what}: the L3 holds all")
            else:
                expect(pinned["from_far"] == lines, f"{what}: mixer0's buffer alone changes dies")
                expect(steal["from_far"] > lines, f"{what}: moving costs nothing")


def by_cpu() -> None:
    found = rows("--topology", "i7", "--pin", "all", "--by-cpu")
    cpus = [row for row in found if row["thread"].startswith("cpu")]
    expect(len(cpus) == 4 and len(found) == 12, "seven threads, four CPUs, and all")
    busiest = max(cpus, key=lambda row: int(row["l1_read_misses"]))
    expect(busiest["thread"] == "cpu2", "mixer1 and mixer2 are on CPU 2")
    program = sum(int(row["reads"]) for row in cpus)
    expect(program > 6 * 64 * 60, "the CPUs have fewer reads than the threads")


def counters() -> None:
    common = ("--topology", "i7", "--affinity", "--counters", "--seeds", "2")
    found = rows(*common, "--sched", "steal:affinity=declared")
    expect(all(row["affinity-here"] == "" for row in found if row["thread"] != "all"), "no total")
    for row in (row for row in found if row["thread"] == "all"):
        placed = sum(int(row[f"affinity-{way}"]) for way in ("here", "there", "standard"))
        expect(0 < placed <= 6 * 60 + 12, f"{placed} wake-ups, by six edges and 60 samples")
        expect(int(row["affinity-pushes"]) <= placed, "pushes without wake-ups")
    plain = whole("--topology", "i7", "--counters")
    expect(plain["steals"] > 0 and "affinity-here" not in plain, "counters of another policy")
    expect("steals" not in whole("--topology", "i7"), "counters, and not asked for")
    from_json = json.loads(
        output(*common, "--sched", "steal:affinity=declared", "--format", "json")
    )
    expect(str(from_json[-1]["steals"]) == found[-1]["steals"], "JSON has other counters")
    expect("affinity-there" in output(*common, "--sched", "steal:affinity=auto"), "text has none")


def one_node() -> None:
    for way in ("steal", "steal:affinity=declared"):
        common = ("--sched", way, "--affinity")
        near, alike = (
            whole("--topology", "xeon", *common, *more) for more in ((), ("--one-node",))
        )
        expect(near != alike, f"{way}: the dies of the Xeon make no difference")
        near, alike = (whole("--topology", "i7", *common, *more) for more in ((), ("--one-node",)))
        expect(near == alike, f"{way}: the i7 has one node")


def work_and_prefetch() -> None:
    common = ("--topology", "xeon", "--buffer", "64", "--pin", "all")
    normal, idle = whole(*common), whole(*common, "--work", "0")
    expect(idle["mean_ns"] < normal["mean_ns"], "less work takes no less time")
    expect(whole(*common, "--prefetch")["mean_ns"] < normal["mean_ns"], "the prefetcher is slow")


def pairs() -> None:
    common = ("--workload", "pairs", "--pairs", "16", "--topology", "numa64", "--warmup", "5")
    near, far = whole(*common, "--pin", "all"), whole(*common, "--sched", "dist")
    expect(near["from_far"] == 0, "pinned to one CPU, and another node's cache is read")
    expect(far["from_far"] > 0, "dist leaves partners on one node")
    expect(near["mean_ns"] > 0 and far["mean_ns"] > 0, "no time")


def pipelines() -> None:
    common = ("--workload", "pipelines", "--pairs", "6", "--topology", "i7", "--warmup", "5")
    run, lines = whole(*common), 4 * 1024 // LINE * 60
    expect(run["reads"] == 6 * 4 * lines, "all stages but the first read a buffer")
    expect(run["writes"] == 6 * 5 * lines, "each stage fills its buffer")
    many = [sys.argv[1], "--workload", "pipelines", "--pairs", "52"]
    refused = subprocess.run(many, stderr=subprocess.PIPE, text=True, check=False)
    expect(refused.returncode == 2, "52 pipelines are refused")
    expect("there is room for 51 pipelines" in refused.stderr, "it says how many there may be")


def each_sample() -> None:
    common = ("--topology", "xeon", "--sched", "steal:affinity=declared", "--affinity")
    found = rows(*common, "--counters", "--each-sample", "--seeds", "2")
    samples = [row for row in found if row["thread"].startswith("sample")]
    others = [row for row in found if row not in samples]
    expect(others == rows(*common, "--counters", "--seeds", "2"), "--each-sample changes the run")
    for seed in ("1", "2"):
        own = [row for row in samples if row["seed"] == seed]
        whole = next(row for row in others if (row["seed"], row["thread"]) == (seed, "all"))
        expect(len(own) == 60, "a row for each sample")
        took = sum(float(row["mean_ns"]) for row in own) / 60
        expect(abs(took - float(whole["mean_ns"])) < 1, "the samples' times are those of all")
        for name in ("affinity-here", "affinity-late", "idle_ns"):
            counted = sum(int(row[name]) for row in own)
            # Those of all also have what was done while the first and the last task were not
            # measured.
            expect(abs(counted - int(whole[name])) <= 0.1 * counted + 6, f"{name}: {counted}")
    for other in (("--workload", "pairs"), ("--serial",)):
        words = [sys.argv[1], *other, "--each-sample"]
        refused = subprocess.run(words, stderr=subprocess.PIPE, text=True, check=False)
        expect(refused.returncode == 2 and "wavemix" in refused.stderr, f"{other} is refused")


def main() -> None:
    repeats()
    each_sample()
    formats_agree()
    wavemix()
    by_cpu()
    counters()
    one_node()
    work_and_prefetch()
    pairs()
    pipelines()


if __name__ == "__main__":
    main()
