# SPDX-License-Identifier: MIT
from __future__ import annotations

from pathlib import Path

import pytest

from pirn_tools.bench import report
from pirn_tools.bench.command import check_names
from pirn_tools.bench.runner import Sample, jobs_of, run_rounds
from pirn_tools.bench.suites import choose, load_suites
from pirn_tools.errors import UserError

SUITES = """
[suite.micro]
rounds = 3
baseline = "slow"
[suite.micro.peers]
fast = 'sh -c "echo $0 ns=10 row=$1" {args}'
slow = { command = 'sh -c "echo ns=$NS" {args}', env = { NS = 40 }, rows = ["yield"] }
absent = { command = "{bench}/absent {row}" }
skips = 'sh -c "exit 77"'
[suite.micro.rows]
yield = "yield --workers 1"
mutex = { args = "mutex", unit = "cycles" }
"""
PLACES = {"bench": "nowhere"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "suites.toml").write_text(SUITES)
    return tmp_path / "suites.toml"


def measure(path: Path) -> list[Sample]:
    suite = load_suites(path)["micro"]
    jobs = jobs_of(suite, ["fast", "slow", "skips"], [])
    return run_rounds(suite, jobs, suite.rounds, PLACES, lambda _: None)


def test_rows_reach_their_peers(path: Path) -> None:
    suite = load_suites(path)["micro"]
    jobs = {row.name: [peer.name for peer in peers] for row, peers in jobs_of(suite, [], [])}
    assert jobs == {
        "yield": ["fast", "slow", "absent", "skips"],
        "mutex": ["fast", "absent", "skips"],
    }
    absent = next(peer for peer in suite.peers if peer.name == "absent")
    assert absent.argv(PLACES, suite.rows[0]) == ["nowhere/absent", "yield"]
    assert suite.peers[0].argv(PLACES, suite.rows[0])[-3:] == ["yield", "--workers", "1"]


def test_run_rounds_pairs_and_skips(path: Path) -> None:
    samples = measure(path)
    assert len(samples) == 3 * 3
    cell = report.cell(samples, "yield", "fast", "slow")
    assert cell is not None
    assert (cell.median, cell.ratio) == (10, 0.25)
    assert report.cell(samples, "mutex", "skips", "slow") is None


def test_csv_and_plot_come_out(path: Path, tmp_path: Path) -> None:
    samples = measure(path)
    report.write_csv(tmp_path / "micro.csv", samples)
    assert report.read_csv(tmp_path / "micro.csv") == samples
    report.write_plot(tmp_path / "micro.png", samples, "slow")
    assert (tmp_path / "micro.png").read_bytes().startswith(b"\x89PNG")
    assert report.table(samples, "slow").row_count == 2


@pytest.mark.parametrize(
    ("command", "text"),
    [("exit 3", "status 3"), ("echo nothing", "printed no ns=NUMBER"), ("kill -9 $$", "status -9")],
)
def test_failing_program_is_named(tmp_path: Path, command: str, text: str) -> None:
    toml = tmp_path / "suites.toml"
    toml.write_text(f"[suite.a.peers]\np = 'sh -c \"{command}\"'\n[suite.a.rows]\nr = ''\n")
    suite = load_suites(toml)["a"]
    with pytest.raises(UserError, match=text):
        run_rounds(suite, jobs_of(suite, [], []), 1, PLACES, lambda _: None)


@pytest.mark.parametrize("text", ["[suite", "[suite.a]\n", "[suite.a]\npeers = 3\nrows = {}\n"])
def test_damaged_suites_are_an_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "suites.toml").write_text(text)
    with pytest.raises(UserError):
        load_suites(tmp_path / "suites.toml")


def test_misspelt_names_are_errors(path: Path) -> None:
    suites = load_suites(path)
    with pytest.raises(UserError, match='did you mean "micro"'):
        choose(suites, ("mirco",))
    with pytest.raises(UserError, match='no peer "fats"'):
        check_names(suites["micro"], ("fats",), ())
    with pytest.raises(UserError, match='no row "yeild"'):
        check_names(suites["micro"], (), ("yeild",))
