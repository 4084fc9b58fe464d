# SPDX-License-Identifier: MIT
"""The runner's report on a case of each outcome: test_run.py conformance-samples."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).parent
SAMPLES = ""


def run(case: str, listed: str = "", *options: str) -> tuple[int, str]:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "expected.txt"
        path.write_text(listed + "\n")
        command = [sys.executable, "-B", HERE / "run.py", "--expected", path]
        options = ("--case", f"samples.{case}", "--limit", "2", *options, SAMPLES)
        done = subprocess.run([*command, *options], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


class Outcomes(unittest.TestCase):
    def good(self, case: str, text: str, listed: str = "", *options: str) -> None:
        status, output = run(case, listed, *options)
        assert text in output
        assert status == 0, output

    def wrong(self, case: str, text: str, listed: str = "", *options: str) -> None:
        status, output = run(case, listed, *options)
        assert text in output
        assert status == 1, output

    def test_pass(self) -> None:
        self.good("passes*", "nptl: 2 passed")

    def test_failures_say_where(self) -> None:
        self.wrong("fails", "1 + 1: got 2, want 3")
        self.wrong("fails_by_errno", "get_errno(): got 9, want 4")
        self.wrong("dies", "died by SIGABRT")
        self.wrong("ends_early", "ended with status 0 before its end")

    def test_hang_is_named(self) -> None:
        self.wrong("hangs", "HANG samples.hangs")

    def test_unsupported_gives_the_reason(self) -> None:
        self.good("is_unsupported", "UNSUPPORTED samples.is_unsupported: for example")

    def test_children_end_with_their_case(self) -> None:
        self.good("leaves_a_child_behind", "1 passed")

    def test_no_case_is_an_error(self) -> None:
        self.wrong("nothing", "no case ran")

    def test_listed_failures_are_good(self) -> None:
        self.good("fails", "1 failed as listed", "nptl samples.f* fails because")
        self.good("hangs", "1 failed as listed", "nptl samples.hangs hangs because")
        self.good("dies", "1 failed as listed", "nptl samples.dies fails because")

    def test_listed_passes_are_wrong(self) -> None:
        self.wrong("passes", "remove expected.txt:1", "nptl samples.pass* fails because")
        self.wrong("is_unsupported", "remove expected.txt:1", "nptl samples.is* fails because")

    def test_entries_hold_where_they_say(self) -> None:
        at = ("--configuration", "pirn.dist.2.coop")
        self.wrong("fails", "FAIL samples.fails", "nptl samples.fails fails because", *at)
        self.good("fails", "failed as listed", "pirn.*.2.* samples.fails fails because", *at)
        self.wrong("fails", "FAIL samples.fails", "pirn.*.1.* samples.fails fails because", *at)

    def test_entries_with_a_sample_are_tried_there(self) -> None:
        entry = "pirn.*.2.*@pirn.dist.2.coop samples.fails fails because"
        self.good("fails", "failed as listed", entry, "--configuration", "pirn.dist.2.coop")
        self.good("fails", "1 listed and not tried", entry, "--configuration", "pirn.single.2.coop")
        self.wrong("fails", "FAIL samples.fails", entry, "--configuration", "pirn.dist.1.coop")

    def test_chance_is_not_tried(self) -> None:
        self.good("passes", "1 listed and not tried", "nptl samples.passes chance because")

    def test_entries_of_all_pirn_are_tried_once(self) -> None:
        entry = "pirn samples.fails fails because"
        self.good("fails", "1 listed and not tried", entry, "--configuration", "pirn.dist.2.coop")
        self.good("fails", "failed as listed", entry, "--configuration", "pirn.steal.1.coop")
        skip = ("--configuration", "pirn.steal.1.coop", "--unlisted-only")
        self.good("fails", "1 listed and not tried", entry, *skip)

    def test_shrink_keeps_what_fails(self) -> None:
        entries = "# a\nnptl samples.dies fails b\nnptl samples.[pf]a*s fails c\n"
        entries += "nptl samples.passes_f* fails d\n"
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "expected.txt"
            path.write_text(entries)
            command = [sys.executable, "-B", HERE / "run.py", "--expected", path, "--shrink"]
            subprocess.run([*command, "--case", "samples.[pfd]*", SAMPLES], capture_output=True)
            assert path.read_text() == (
                "# a\nnptl samples.dies fails b\nnptl samples.fails fails c\n"
            )

    def test_bad_list_is_an_error(self) -> None:
        status, output = run("passes", "nptl samples.passes sometimes because")
        assert status != 0
        assert "expected.txt:1: not WHERE CASE fails|hangs|chance" in output


if __name__ == "__main__":
    SAMPLES = sys.argv.pop()
    unittest.main(verbosity=1)
