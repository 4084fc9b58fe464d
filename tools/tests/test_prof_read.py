# SPDX-License-Identifier: MIT
"""pirn_tools.prof.read: whole files, damaged ones, those of others."""

from __future__ import annotations

from pathlib import Path

import pytest
from profiles import Writer, prof

from pirn_tools.errors import UserError
from pirn_tools.prof.read import ProfileError, load


def small() -> Writer:
    w = Writer()
    root = w.root("main", 0x1000, name="a\tname")
    call = w.call(root, 0x1000, 0, 1)
    w.sample(call, 0x1004, 7, cpu=3)
    w.sample(root, 0x9000, 2, cpu=-1)
    w.add("map", "0x1000", "0x2000", "0x0", "/bin/with\ttab")
    w.add("count", "lost_calls", 5)
    w.add("distance", 0, 100)
    w.add("future", "of", "a", "later", "library")
    return w


def refused(tmp_path: Path, text: str | bytes) -> str:
    """The message; the command's exit status is 2."""
    path = tmp_path / "p.prof"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(UserError) as caught:
        load(path)
    assert caught.value.exit_code == 2
    assert caught.value.message.startswith(f"{path}: line ")
    for verb in ("tree", "stat"):
        result = prof(verb, path)
        assert result.exit_code == 2
        assert isinstance(result.exception, SystemExit)
    return caught.value.message.removeprefix(f"{path}: ")


def test_every_line_is_read(tmp_path: Path) -> None:
    found = load(small().save(tmp_path / "p"))
    assert [one.kind for one in found.order] == ["root", "call"]
    assert found.threads[0].name == "a?name"
    assert found.maps[0].path == "/bin/with\ttab"
    assert [(s.cpu, s.node, s.pc, s.times) for s in found.samples] == [
        (3, 2, 0x1004, 7),
        (-1, 1, 0x9000, 2),
    ]
    assert found.counts == {"lost_calls": 5}
    assert found.distances == [(0, 100)]
    assert found.rate == 100
    assert found.remarks == []


def test_nodes_may_stand_before_their_parents(tmp_path: Path) -> None:
    w = small()
    w.lines.append(w.lines.pop(3))
    found = load(w.save(tmp_path / "p"))
    assert [one.id for one in found.order] == [1, 2]


def test_names_that_are_not_text_are_read(tmp_path: Path) -> None:
    data = small().text().encode().replace(b"with", b"w\xffth").replace(b"name", b"n\xff\x1bm")
    (tmp_path / "p").write_bytes(data)
    found = load(tmp_path / "p")
    assert found.threads[0].name == "a?n??m"
    assert prof("tree", tmp_path / "p").exit_code == 0


@pytest.mark.parametrize("lines", [1, 3, 6, -1])
def test_cut_off_file_is_refused(tmp_path: Path, lines: int) -> None:
    text = "\n".join(small().text().splitlines()[:lines]) + "\n"
    assert "cut off" in refused(tmp_path, text)


def test_file_of_a_program_that_has_not_ended_says_so(tmp_path: Path) -> None:
    text = "pirn-profile\t1\nnote\tthe program runs, or ended in a way that writes no profile\n"
    message = refused(tmp_path, text)
    assert message == (
        "line 3: the file is cut off: the program runs, or ended in a way that writes no profile"
    )


def test_lost_line_is_noticed(tmp_path: Path) -> None:
    lines = small().text().splitlines()
    del lines[4]
    message = refused(tmp_path, "\n".join(lines) + "\n")
    assert "lines before this one, it says; there are" in message


def test_other_files_are_no_profiles(tmp_path: Path) -> None:
    assert "not a profile of Pirn" in refused(tmp_path, "")
    assert "not a profile of Pirn" in refused(tmp_path, b"\x7fELF\0\1\2" + bytes(range(256)))
    assert 'version "2"' in refused(tmp_path, small().text().replace("profile\t1", "profile\t2"))
    assert 'version ""' in refused(tmp_path, "pirn-profile\n")
    with pytest.raises(UserError, match="cannot read") as caught:
        load(tmp_path)
    assert caught.value.exit_code == 2


WRONG = [
    ("node\tx\t1\tcall\t0x1\t0x2\t3", 'the node is "x", not a number'),
    ("node\t0\t1\tcall\t0x1\t0x2\t3", "nodes have numbers from 1 on"),
    ("node\t2\t1\tcall\t0x1\t0x2\t3", "node 2 is there twice, first in line 6"),
    ("node\t3\t1\tcell\t0x1\t0x2\t3", 'kind "cell" (valid: root, call, frame)'),
    ("node\t3\t1\tcall\t1\t0x2\t3", 'the function is "1", not an address'),
    ("node\t3\t1\tcall\t0x1\t0x2g\t3", 'the call site is "0x2g", not an address'),
    ("node\t3\t1\tcall\t0x11111111111111111\t0x2\t3", "not an address"),
    ("node\t3\t1\tcall\t0x1\t0x2\t-3", 'the number of calls is "-3", not a number'),
    ("node\t3\t1\tcall\t0x1\t0x2\t18446744073709551616", "at most 18446744073709551615"),
    ("node\t3\t1\tcall\t0x1\t0x2\t" + "9" * 5000, "not a number"),
    ("node\t3\t1\tcall\t0x1\t0x2", "6 columns where 7 are expected"),
    ("node\t3\t1\troot\t0x1\t0x2\t0", "kind root has the parent 1"),
    ("node\t3\t0\tcall\t0x1\t0x2\t0", "kind call has no parent"),
    ("node\t3\t9\tcall\t0x1\t0x2\t0", "node 3 has parent 9: not there"),
    ("sample\t0\t8\t0x1\t1", "a sample in node 8, which is not there"),
    ("wait\twaited\tmutex\t0x0\t8\t0x1\t1\t2\t3\t4", "a wait in node 8, which is not there"),
    ("wait\tlost\tmutex\t0x0\t1\t0x1\t1\t2\t3\t4", '"lost" (valid: waited, released)'),
    ("wait\twaited\tmutex\t0x0\t1\t0x1\t1\t2\t-3\t4", 'the time ready is "-3"'),
    ("wait\twaited\tmutex\t1\t1\t0x1\t1\t2\t3\t4", 'the object is "1", not an address'),
    ("meta\twaits\tsome", 'waits is "some", not a number'),
    ("sample\t-2\t1\t0x1\t1", 'the CPU is "-2"'),
    ("sample\t70000\t1\t0x1\t1", "the CPU is 70000; at most 65536"),
    ("thread\t2\tuser\t1\t1\t1\tx", "a call, not a root"),
    ("thread\t9\tuser\t1\t1\t1\tx", "which is not there"),
    ("thread\t1\tuser\t1\t1\t1\tx", "another thread's"),
    ("thread\t1\tking\t1\t1\t1\tx", 'kind "king" (valid: main, user'),
    ("map\t0x20\t0x10\t0x0\tx", "before its start"),
    ("meta\trate\tfast", 'rate is "fast", not a number'),
    ("meta\trate\t10000000000", "rate is 10000000000; at most"),
    ("meta\tclock\tmoon", 'clock "moon" (valid: cpu, wall)'),
    ("count\tx", "2 columns where 3 are expected"),
    ("distance\t1\t²", 'the number is "²", not a number'),
]


@pytest.mark.parametrize(("line", "text"), WRONG)
def test_wrong_line_is_named(tmp_path: Path, line: str, text: str) -> None:
    w = small()
    w.lines.append(line)
    message = refused(tmp_path, w.text())
    assert text in message
    assert message.startswith(f"line {len(w.lines)}: ")


def test_circle_of_parents_is_refused(tmp_path: Path) -> None:
    w = small()
    w.add("node", 5, 6, "call", "0x1", "0x2", 1)
    w.add("node", 6, 5, "call", "0x1", "0x2", 1)
    assert "node 5 is below itself" in refused(tmp_path, w.text())


def test_tree_of_nobody_is_kept_and_said(tmp_path: Path) -> None:
    w = small()
    w.node(0, "root", 0)
    found = load(w.save(tmp_path / "p"))
    assert len(found.threads) == 2
    assert found.remarks == ["trees that belong to no thread of the list: 1"]


def test_error_is_of_its_own_class(tmp_path: Path) -> None:
    (tmp_path / "p").write_text("pirn-profile\t1\nend\t7\n")
    with pytest.raises(ProfileError):
        load(tmp_path / "p")
