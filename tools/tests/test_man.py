# SPDX-License-Identifier: MIT
"""Manual pages: what they are made of, that all are there, and that no formatter complains."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import click
import pytest

from pirn_tools import man, paths
from pirn_tools.cli import main
from pirn_tools.describe import find_library, load
from pirn_tools.errors import UserError
from pirn_tools.man import api, headers, roff

INCLUDE = paths.project() / "include" / "pirn"


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    try:
        return man.pages(main, INCLUDE)
    except UserError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def folder(pages: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("man")
    man.write(place, pages)
    return place


def verbs(group: click.Group, words: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    context = click.Context(group)
    found = []
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is None or command.hidden:
            continue
        found.append((*words, name))
        if isinstance(command, click.Group):
            found += verbs(command, (*words, name))
    return found


def test_help_of_several_paragraphs_is_prose(pages: dict[str, str]) -> None:
    page = pages["pirn-affinity-add.1"]
    assert "\nNeeds root. It ends with either thread.\n" in page
    assert ".nf" not in page


def test_each_verb_has_a_page_and_the_first_page_names_it(pages: dict[str, str]) -> None:
    words = verbs(main)
    assert len(words) > 25
    for verb in words:
        page = pages[f"pirn-{'-'.join(verb)}.1"]
        assert ".SH SYNOPSIS" in page
        if f"pirn-{'-'.join(verb)}-" not in "".join(pages):
            assert roff.escape(f"pirn-{'-'.join(verb)}") in pages["pirn.1"]


def test_options_of_the_library_are_in_the_pages_of_what_starts_programs(
    pages: dict[str, str],
) -> None:
    for option in load().options:
        assert roff.escape(f"--{option.name}") in pages["pirn-run.1"]
        assert option.env in pages["libpirn-pthread.7"]
    for policy in load().policies:
        assert f".B {policy.name}" in pages["pirn-run.1"]


def test_each_function_of_the_headers_has_a_page_and_is_described(pages: dict[str, str]) -> None:
    for name in (api.MAIN, *api.OTHERS):
        header = headers.read(INCLUDE / name)
        assert api.undescribed(header) == []
        functions = [one for part in header.parts for one in part.functions]
        assert functions
        for function in functions:
            assert f"{function}.3" in pages


def test_each_function_that_the_library_exports_has_a_page(pages: dict[str, str]) -> None:
    names = subprocess.run(
        ["nm", "-D", "--defined-only", str(find_library())],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    exported = re.findall(r" T (pirn_\w+)", names)
    assert len(exported) > 90
    inside = {"pirn_layout"}  # for debuggers
    assert sorted(one for one in exported if f"{one}.3" not in pages and one not in inside) == []


def test_references_lead_to_pages_that_there_are(pages: dict[str, str]) -> None:
    elsewhere = {"pthreads.7"}
    for name, text in pages.items():
        for page, section in re.findall(r"^\.BR ([\w\\-]+) \((\d)\)", text, re.MULTILINE):
            target = f"{page.replace(chr(92), '')}.{section}"
            assert target in pages or target in elsewhere, f"{name}: {target}"
        for target in re.findall(r"^\.so man\d/(\S+)$", text, re.MULTILINE):
            assert not pages[target].startswith(".so")


def whole(folder: Path) -> list[Path]:
    """The pages that are more than a reference to another."""
    return [one for one in sorted(folder.rglob("*.[137]")) if not one.read_text().startswith(".so")]


def test_mandoc_has_nothing_to_say(folder: Path) -> None:
    mandoc = shutil.which("mandoc")
    if mandoc is None:
        pytest.skip("no mandoc: tools/setup installs it")
    command = [mandoc, "-Tlint", "-W", "warning", *map(str, whole(folder))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_man_has_nothing_to_say(folder: Path) -> None:
    if shutil.which("man") is None or shutil.which("groff") is None:
        pytest.skip("no man or no groff")
    for page in whole(folder):
        command = ["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", str(page)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, ""), page


def test_pages_that_are_gone_are_removed(tmp_path: Path) -> None:
    man.write(tmp_path, {"a.1": "x\n", "b.3": "y\n"})
    man.write(tmp_path, {"b.3": "z\n"})
    assert [one.name for one in tmp_path.rglob("*.?")] == ["b.3"]
    assert (tmp_path / "man3" / "b.3").read_text() == "z\n"


HEADER = """/* SPDX-License-Identifier: MIT */
/*
 * small.h - a header: more of it.
 *
 *     code();
 */
#ifndef X
#define X

/* ---- pot: what cooks ---- */

/* Cook `n` eggs. .PP is no request. */
int pirn_pot_cook(unsigned n); /* -EAGAIN */
void pirn_pot_end(void);

typedef struct pirn_pot {
    int (*hook)(void);
} pirn_pot_t;
#define PIRN_POT_INIT \\
    {                 \\
        0             \\
    }

void pirn_pot_bare(void);

#endif
"""


def test_a_header_is_read_as_parts_items_and_functions(tmp_path: Path) -> None:
    (tmp_path / "small.h").write_text(HEADER)
    header = headers.read(tmp_path / "small.h")
    assert (header.name, header.summary) == ("small.h", "a header")
    part = header.parts[-1]
    assert part.title == "pot: what cooks"
    assert part.functions == ["pirn_pot_cook", "pirn_pot_end", "pirn_pot_bare"]
    assert part.items[0].comment == ["Cook `n` eggs. .PP is no request."]
    assert api.undescribed(header) == ["pirn_pot_bare"]
    assert api.page_name(part) == "pirn_pot"


def test_prose_of_comments_becomes_paragraphs_items_and_code() -> None:
    text = ["One `word`.", "", "  - an item", "    of two lines", "", "    code;", "", "    more;"]
    assert roff.paragraphs(text) == [
        ".PP",
        "One \\fBword\\fR.",
        ".PP",
        ".IP \\(bu 2",
        "an item",
        "of two lines",
        ".PP",
        ".RS 4",
        ".nf",
        "code;",
        "",
        "more;",
        ".fi",
        ".RE",
    ]
    assert roff.escape(".TH a\\b -x") == "\\&.TH a\\eb \\-x"
