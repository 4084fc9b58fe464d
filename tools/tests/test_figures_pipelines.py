# SPDX-License-Identifier: MIT
"""The page of `pirn bench figures pipelines`."""

from __future__ import annotations

from pathlib import Path

import pytest

from pirn_tools.figures import pipelines
from pirn_tools.figures.affinity_model import AUTO, FLAT, PLAIN, Point
from pirn_tools.figures.pipelines import NPTL, Program, Run

MJPEG = Program("mjpeg", "stages", ("mjpeg-pirn", "{folder}/out"), ("mjpeg-nptl", "clip"))
QUEUE = Program("queue", "C++", ("queue",), ("queue",), preloaded=True)


def runs(auto: float) -> dict[tuple[str, str], list[Run]]:
    """Rounds that take longer and longer, so that only ratios within them say something."""
    seconds = {PLAIN: 1.0, AUTO: auto, NPTL: 2.0}
    return {
        ("mjpeg", way): [Run(factor * round_, 10, 5, 3) for round_ in range(1, 8)]
        for way, factor in seconds.items()
    }


@pytest.mark.parametrize(
    ("auto", "said"), [(0.9, "faster"), (1.1, "slower"), (1.0, "no difference")]
)
def test_ratios_are_within_rounds(auto: float, said: str) -> None:
    found = runs(auto)
    assert pipelines.ratios(found, "mjpeg", AUTO) == pytest.approx([auto] * 7)
    assert pipelines.verdict(pipelines.ratios(found, "mjpeg", AUTO)) == said
    assert f"{auto:.3f} ({auto:.3f} to {auto:.3f}) | {said}" in pipelines.real_table(found, [MJPEG])
    assert pipelines.real_words(found, [MJPEG]) == f"With learned affinity: {said}: mjpeg."


def test_no_difference_where_the_quartiles_disagree() -> None:
    assert pipelines.verdict([0.8, 0.9, 1.1, 1.2, 0.7, 1.3]) == "no difference"


def test_only_a_preloaded_program_gets_the_library() -> None:
    folder, library = Path("/made"), Path("/lib/libpirn-pthread.so")
    words = MJPEG.words(AUTO, library, folder)
    assert "mjpeg-pirn" in words
    assert "/made/out" in words
    assert f"PIRN_SCHED={AUTO}" in words
    assert not any(word.startswith("LD_PRELOAD") for word in words)
    assert f"LD_PRELOAD={library}" in QUEUE.words(AUTO, library, folder)
    assert QUEUE.words(NPTL, library, folder)[-1] == "queue"
    assert not any("PIRN_SCHED" in word for word in QUEUE.words(NPTL, library, folder))


def model_points(auto_ns: int, auto_far: int) -> dict[object, Point]:
    rows = {}
    for buffer in pipelines.BUFFERS:
        for number in pipelines.NUMBERS:
            for way in pipelines.MODEL_WAYS:
                learned = way.endswith("auto")
                row = {"mean_ns": str(auto_ns if learned else 1000), "sigma_ns": "1"}
                row |= {"a2s_ns": str(auto_ns if learned else 1000), "migrations": "0"}
                row["from_far"] = str((auto_far if learned else 100) * number * pipelines.SAMPLES)
                if way.endswith(FLAT):
                    row |= {"mean_ns": "1250", "a2s_ns": "2500"}
                    row["from_far"] = str(300 * number * pipelines.SAMPLES)
                    row["migrations"] = str(2 * number * pipelines.SAMPLES)
                row |= {
                    f"{level}_{kind}_misses": "60"
                    for level in ("l1", "llc")
                    for kind in ("read", "write")
                }
                one = pipelines.case(way, number, buffer)
                rows[one] = Point(one, ({"all": row},))
    return rows


def test_the_model_says_what_gathering_costs() -> None:
    words = pipelines.model_words(model_points(1500, 10))  # type: ignore[arg-type]
    assert "shortens the time of `dist` by -50 % to -50 %" in words
    assert "from 100 to 10" in words
    assert pipelines.GATHERED in words
    assert pipelines.GATHERED not in pipelines.model_words(model_points(900, 10))  # type: ignore[arg-type]


def test_table_of_the_model_compares_with_the_plain_policy() -> None:
    table = pipelines.model_table(model_points(900, 10), 16)  # type: ignore[arg-type]
    assert table.count("+10 %") == 2 * 2 * len(pipelines.NUMBERS)
    assert "12 pipelines" in table


def test_what_nodes_gain_is_against_runs_without_them() -> None:
    found = model_points(1000, 100)
    words = pipelines.node_words(found)  # type: ignore[arg-type]
    assert (
        f"- `{PLAIN}`: time -20 % to -20 %, on average -20 %; lines from another node 300 to 100, "
        "migrations 2.0 to 0.0." in words
    )
    assert f"- `{AUTO}`: " in words
    # A rule without nodes stands beside its policy without nodes.
    assert pipelines.plain_of(f"{AUTO}{FLAT}") == f"{PLAIN}{FLAT}"
    assert pipelines.plain_of("dist:affinity=auto") == "dist"
    assert f"| `{AUTO}{FLAT}` | 1 ± 0 | 0.0 % |" in pipelines.model_table(found, 16)  # type: ignore[arg-type]


def test_words_of_a_case() -> None:
    assert "--one-node" in pipelines.case(f"{AUTO}{FLAT}", 12, 16).words()
    words = pipelines.case(AUTO, 12, 16).words()
    assert words[:4] == ["--workload", "pipelines", "--pairs", "12"]
    assert words[-2:] == ["--sched", AUTO]
