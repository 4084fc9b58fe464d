# SPDX-License-Identifier: MIT
"""Five hundred damaged processes (fuzz_layout.py); `make fuzz-layout` looks at 100,000."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import foreign
import fuzz_layout
import pytest
from foreign import Foreign
from profiles import needs_cc

from pirn_tools.binary import names
from pirn_tools.errors import UserError
from pirn_tools.live import cli
from pirn_tools.live.snapshot import Runtime

pytestmark = needs_cc


def test_damaged_processes_are_shown_or_refused_within_limits() -> None:
    """In a process of its own, of which the peak of the memory is known."""
    script = Path(fuzz_layout.__file__)
    words = [sys.executable, str(script), "--files", "500"]
    said = subprocess.run(words, capture_output=True, text=True, timeout=1500, check=False)
    assert said.returncode == 0, said.stderr


def test_undamaged_process_is_shown_whole() -> None:
    text = fuzz_layout.use(Foreign(foreign.whole()), random.Random(1))
    assert "policy steal: 11 threads: 1 running, 1 in calls, 1 ready, 8 blocked" in text
    assert "MPI_Recv source=any tag=0xff comm=world" in text
    assert 'mutex 0x90000, owned by 5.1 "thread-5"' in text
    assert "Cycle: 4.1" in text


def entry_changed(name: str, value: int | None = None, size: int | None = None) -> foreign.Image:
    image = foreign.whole()
    at = list(foreign.entries()).index(name) * 36
    raw = image.pieces[foreign.TABLE]
    for offset, number in ((28, value), (32, size)):
        if number is not None:
            raw[at + offset : at + offset + 4] = number.to_bytes(4, "little")
    return image


def refusal(image: foreign.Image) -> str:
    process = Foreign(image)
    with pytest.raises(UserError) as caught, cli.limited(process.pid, cli.LIMIT):
        Runtime(process, cli.allowance(cli.LIMIT)).look()
    return caught.value.message


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("ID_CHUNK_BITS", 40, "damaged: ID_CHUNK_BITS is 40 (at most 14 is possible)"),
        ("ID_CHUNKS", 1 << 31, "damaged: ID_CHUNKS is 2147483648"),
        ("sizeof.thread", 1 << 31, "damaged: sizeof.thread is 2147483648"),
        ("sizeof.id_slot", 0, "damaged: sizeof.id_slot is 0"),
        ("thread.name", 1 << 20, "damaged: thread.name is at 1048576, outside its structure"),
        ("THREAD_READY", 2, "damaged: two of THREAD_NEW, THREAD_READY"),
    ],
)
def test_table_is_refused_when_a_number_is_beyond_its_limit(
    name: str, value: int, text: str
) -> None:
    assert text in refusal(entry_changed(name, value))


def test_table_is_refused_when_a_field_has_a_size_that_no_number_has() -> None:
    assert "damaged: thread.state has 4294967295 bytes" in refusal(
        entry_changed("thread.state", size=(1 << 32) - 1)
    )


@pytest.mark.parametrize("name", [*names.FIELDS, *names.PLACES, *names.CONSTANTS])
def test_table_is_refused_when_a_name_is_missing(name: str) -> None:
    image = entry_changed(name)
    at = list(foreign.entries()).index(name) * 36
    image.pieces[foreign.TABLE][at] = ord("?")
    assert f"damaged: it has no {name}" in refusal(image)


def test_look_is_refused_when_the_runtime_has_not_started() -> None:
    image = foreign.whole()
    at, _ = foreign.entries()["rt.started"]
    image.pieces[foreign.RT][at] = 0
    assert "has not started its runtime yet" in refusal(image)


def test_look_is_ended_when_there_are_threads_without_number() -> None:
    assert "takes more than 1.5 s of CPU time" in refusal(foreign.crowded(8192))


def test_circles_are_found_when_thirty_thousand_threads_wait_for_each_other() -> None:
    """In a chain: to look for a thread in a list of all that are before it takes for ever."""
    from pirn_tools.live.snapshot import Snapshot
    from pirn_tools.live.waits import Wait, Waits

    with cli.limited(foreign.PID, 60):
        runtime = Runtime(Foreign(foreign.crowded(2)), cli.allowance(60))
        threads = runtime.look().threads
    snapshot = Snapshot("steal", None, False, [], threads)
    nexts = dict(zip((t.at for t in threads), [*threads[1:], threads[0]], strict=True))
    waits = Waits(runtime, snapshot, 0)
    waits.of = lambda t: Wait("mutex", "", nexts[t.at])  # type: ignore[method-assign]
    with cli.limited(foreign.PID, 10):
        (circle,) = waits.cycles()
    assert circle == threads


def test_names_of_threads_have_no_control_characters_when_printed() -> None:
    image = foreign.whole()
    at, _ = foreign.entries()["thread.name"]
    raw = image.pieces[foreign.descriptor(4)]
    raw[at : at + 16] = b"\x1b]0;a\x07\x1b[2J\xe2\x80\xae\xff"[:16].ljust(16, b"x")
    text = fuzz_layout.use(Foreign(image), random.Random(1))
    assert fuzz_layout.clear(text)
    assert "?]0;a??[2J" in text
