# SPDX-License-Identifier: MIT
from __future__ import annotations

from pathlib import Path

import pytest

from pirn_tools.demo import report
from pirn_tools.demo.command import same_checksum
from pirn_tools.demo.decode import Contender, RefusedError, Result, contenders, decode
from pirn_tools.demo.psnr import check_psnr, worst_psnr
from pirn_tools.errors import UserError


def result(name: str, seconds: float, checksum: str = "ab") -> Result:
    return Result(name, seconds, 9, checksum, 100, 3, None, 0.25)


def script(folder: Path, body: str) -> Contender:
    """A program that stands for a decoder, to see how its failures are reported."""
    path = folder / "decoder"
    path.write_text("#!/bin/sh\n" + body)
    path.chmod(0o755)
    return Contender("steal", path, {"PIRN_SCHED": "steal", "PIRN_CPUS": "2"})


def test_decode_reads_line_and_statistics(tmp_path: Path) -> None:
    stats = '{"threads":5,"switches":7,"steals":1,"wall_ns":100,"cpus":2,"idle_ns":50}'
    line = "mjpeg: pictures=1 width=8 height=8 threads=4 seconds=0.5 checksum=ff"
    body = f"echo '{stats}' > \"${{PIRN_STATS#json:}}\"\necho '{line}'\n"
    got = decode(script(tmp_path, body), [], 2)
    assert (got.seconds, got.threads, got.checksum) == (0.5, 5, "ff")
    assert (got.switches, got.steals, got.migrations, got.idle_share) == (7, 1, None, 0.25)


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("echo why >&2; exit 3", "ended with status 3"),
        ("kill -SEGV $$", "killed by signal 11"),
        ("exit 0", "no statistics"),
        ("echo '{}' > ${PIRN_STATS#json:}; echo mjpeg: seconds=1", "printed no threads, checksum"),
        ("echo '[' > ${PIRN_STATS#json:}", "no statistics"),
    ],
)
def test_decode_reports_when_the_decoder_fails(tmp_path: Path, body: str, text: str) -> None:
    with pytest.raises(UserError) as caught:
        decode(script(tmp_path, body), ["clip"], 2)
    assert text in caught.value.message


def test_decode_tells_a_policy_that_this_machine_cannot_run(tmp_path: Path) -> None:
    refusal = "pirn: option sched: policy steal needs a counter. Valid here: others"
    with pytest.raises(RefusedError, match=r"^policy steal needs a counter"):
        decode(script(tmp_path, f"echo '{refusal}' >&2; exit 2"), ["clip"], 2)
    with pytest.raises(UserError, match="ended with status 2") as caught:
        decode(script(tmp_path, f"echo '{refusal.replace('steal', 'x')}' >&2; exit 2"), [], 2)
    assert not isinstance(caught.value, RefusedError)


def test_contenders_are_nptl_and_every_policy() -> None:
    made = contenders(Path("apps"), ["single", "steal"], 2)
    assert [one.name for one in made] == ["nptl", "single", "steal"]
    assert made[2].environment == {"PIRN_SCHED": "steal", "PIRN_CPUS": "2"}


def test_the_page_has_a_row_for_each_policy() -> None:
    rows = report.summarize(
        [{name: result(name, s) for name, s in (("nptl", 2.0), ("steal", 1.0))}]
    )
    lines = report.markdown(rows, "About.").splitlines()
    assert lines[0] == "About."
    assert lines[-2:] == [
        "| NPTL (kernel) | 2000.0 ms | 1.00 | 100 | 3 | 25% |",
        "| steal | 1000.0 ms | 0.50 | 100 | 3 | 25% |",
    ]


def test_same_checksum_names_who_differs() -> None:
    assert same_checksum([result("nptl", 1), result("steal", 1)], None) == "ab"
    with pytest.raises(UserError, match="steal: cd"):
        same_checksum([result("nptl", 1), result("steal", 1, "cd")], None)
    with pytest.raises(UserError, match="nptl: ab"):
        same_checksum([result("nptl", 1)], "ef")


def test_summarize_pairs_ratios_within_a_round(tmp_path: Path) -> None:
    rounds = [
        {"nptl": result("nptl", nptl), "steal": result("steal", steal)}
        for nptl, steal in ((1.0, 0.5), (10.0, 5.0), (2.0, 1.5))
    ]
    rows = report.summarize(rounds)
    assert [(row.name, row.seconds, row.ratio) for row in rows] == [
        ("nptl", 2.0, 1.0),
        ("steal", 1.5, 0.5),
    ]
    report.write_csv(tmp_path / "a.csv", rounds)
    assert len((tmp_path / "a.csv").read_text().splitlines()) == 7
    report.write_plot(tmp_path / "a.png", rows, "title")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def test_psnr_takes_the_worst_picture(tmp_path: Path) -> None:
    ours, reference = tmp_path / "ours", tmp_path / "reference"
    reference.write_bytes(bytes(200))
    ours.write_bytes(bytes(200))
    assert worst_psnr(ours, reference, 100) == float("inf")
    ours.write_bytes(bytes(100) + bytes([1] * 100))
    assert check_psnr(ours, reference, 100) == pytest.approx(48.13, abs=0.01)
    ours.write_bytes(bytes(100) + bytes([20] * 100))
    with pytest.raises(UserError, match="dB from ffmpeg"):
        check_psnr(ours, reference, 100)


def test_psnr_complains_when_sizes_differ(tmp_path: Path) -> None:
    for name, size in (("a", 100), ("b", 200), ("c", 0)):
        (tmp_path / name).write_bytes(bytes(size))
    with pytest.raises(UserError, match="expected the same"):
        worst_psnr(tmp_path / "a", tmp_path / "b", 100)
    with pytest.raises(UserError, match="expected the same"):
        worst_psnr(tmp_path / "c", tmp_path / "c", 100)
