# SPDX-License-Identifier: MIT
"""Reading the blocks of a document, and comparing with the output that it shows."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

import run
from blocks import Command, DocumentError, blocks, matches

PAGE = """# A page

<!-- file: a.c -->
```c
int x;

int y;
```

```sh
true
false
```

<!-- output varies -->
<!-- status 3 -->
```console
$ one
out
$ two \\
> more
...
```

<!-- not run: needs a board -->
```sh
never
```

```text
    indented, in a fence
```
"""


def test_blocks_have_their_language_lines_and_marks() -> None:
    found = blocks(PAGE)
    assert [(one.line, one.language, one.runs) for one in found] == [
        (4, "c", False),
        (10, "sh", True),
        (17, "console", True),
        (26, "sh", False),
        (30, "text", False),
    ]
    assert found[0].marks == {"file": "a.c"}
    assert found[0].lines == ["int x;", "", "int y;"]
    assert found[2].status == 3
    assert found[3].marks["not run"] == "needs a board"


def test_commands_of_a_console_have_their_output() -> None:
    found = blocks(PAGE)
    assert found[1].commands() == [Command(10, "true\nfalse")]
    assert found[2].commands() == [
        Command(18, "one", ["out"]),
        Command(20, "two \\\nmore", ["..."]),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x\n\n    indented\n", "line 3: an indented block"),
        ("```sh\ntrue\n", "line 1: a block without end"),
        ("<!-- not run -->\n```sh\nx\n```\n", '"not run" needs'),
        ("<!-- file -->\n```c\nx\n```\n", '"file" needs'),
        ("<!-- status no -->\n```sh\nx\n```\n", '"no" is no number'),
        ("<!-- status 2 -->\n```c\nx\n```\n", "only blocks of sh"),
    ],
)
def test_blocks_complain_when_a_rule_is_broken(text: str, message: str) -> None:
    with pytest.raises(DocumentError, match=message):
        blocks(text)


def test_a_console_complains_when_it_begins_with_output() -> None:
    with pytest.raises(DocumentError, match="begins with"):
        blocks("```console\nout\n$ one\n```\n")[0].commands()


@pytest.mark.parametrize(
    ("shown", "got", "expected"),
    [
        (["a"], ["a"], True),
        (["a "], ["a"], True),
        (["a"], ["b"], False),
        ([], ["b"], False),
        (["a"], [], False),
        (["a", "b"], ["a"], False),
        (["a ... c"], ["a b c"], True),
        (["a.c"], ["abc"], False),
        (["..."], [], True),
        (["a", "...", "d"], ["a", "b", "c", "d"], True),
        (["a", "...", "d"], ["a", "b", "c"], False),
        (["...", "b", "..."], ["a", "b", "b", "c"], True),
    ],
)
def test_output_matches_when_only_what_dots_stand_for_differs(
    shown: list[str], got: list[str], expected: bool
) -> None:
    assert matches(shown, got) is expected


class Shell:
    """A working folder without the tree."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def run(self, command: Command, status: int) -> list[str]:
        done = subprocess.run(
            ["bash", "-e", "-c", command.text], capture_output=True, text=True, check=False
        )
        if done.returncode != status:
            raise run.FailedError(f"status {done.returncode}, not {status}")
        return done.stdout.splitlines()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("```console\n$ echo a\na\n$ echo b\nc\n```\n", "line 4: echo b"),
        ("```sh\nfalse\n```\n", "line 1: false"),
        ("<!-- status 2 -->\n```console\n$ exit 1\n```\n", "status 1, not 2"),
        ("<!-- output varies -->\n```console\n$ exit 1\nx\n```\n", "status 1"),
    ],
)
def test_a_block_fails_when_it_does_not_do_what_is_shown(
    text: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(run.FailedError, match=message):
        run.perform(Shell(tmp_path), blocks(text)[0])  # type: ignore[arg-type]


def test_a_block_passes_when_it_does_what_is_shown(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    for text in (
        "```console\n$ echo a\na\n```\n",
        "<!-- output varies -->\n```console\n$ echo a\nb\n```\n",
        "<!-- status 2 -->\n```console\n$ true\n$ exit 2\n```\n",
        "```sh\ntrue\n```\n",
    ):
        run.perform(shell, blocks(text)[0])  # type: ignore[arg-type]
