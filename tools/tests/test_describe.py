# SPDX-License-Identifier: MIT
from __future__ import annotations

import json

import pytest

from pirn_tools.describe import Description, parse
from pirn_tools.errors import UserError
from pirn_tools.launch import settings, spell_out
from pirn_tools.sched import default_spec, option_line
from pirn_tools.spec import check_spec


def test_parse_reads_policies_and_options(description: Description) -> None:
    assert description.version == "1.2.3"
    assert [org.name for org in description.policies] == ["single", "dist", "steal"]
    assert default_spec(description) == "steal"


def test_option_line_names_default_first(description: Description) -> None:
    lines = [option_line(option) for org in description.policies for option in org.options]
    assert lines == ["place=FILE  from a measured run", "victim=random|max|neighbour"]


@pytest.mark.parametrize(
    "spec", ["single", "steal", "steal:victim=max", "dist:place=any/file", "steal:"]
)
def test_check_spec_is_silent_when_valid(description: Description, spec: str) -> None:
    check_spec(description, spec)


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ("stael", 'no policy "stael"; did you mean "steal"? (valid: single, dist, steal)'),
        ("", 'no policy ""'),
        ("steal:vicitm=max", 'did you mean "victim"?'),
        ("single:victim=max", 'policy "single" has no option "victim" (valid: none)'),
        ("steal:victim=mxa", 'did you mean "max"? (valid: max, random, neighbour)'),
        ("steal:victim", "needs a value"),
        ("dist:place=", "needs a value"),
    ],
)
def test_check_spec_says_what_is_valid_when_not(
    description: Description, spec: str, text: str
) -> None:
    with pytest.raises(UserError) as caught:
        check_spec(description, spec)
    assert text in caught.value.message
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("--stats prog", "--stats=text prog"),
        ("--stats text prog", "--stats=text prog"),
        ("--stats json:f prog", "--stats=json:f prog"),
        ("--stats=json:f -- prog", "--stats=json:f -- prog"),
        ("--stats -- text", "--stats=text -- text"),
        ("--detour --cpus 2 prog --stats", "--detour=1 --cpus 2 prog --stats"),
        ("--detour 0 prog", "--detour=0 prog"),
        ("--cpus --stats", "--cpus --stats"),
        ("--unknown --cpus 2", "--unknown --cpus 2"),
        ("", ""),
    ],
)
def test_spell_out_adds_implied_values_before_the_program(
    description: Description, given: str, expected: str
) -> None:
    assert spell_out(given.split(), description.options) == expected.split()


def test_settings_sets_the_variable_of_any_option(description: Description) -> None:
    values = {"option_sched": "dist", "option_new_one": "7", "option_cpus": None}
    assert settings(description, values) == {"PIRN_SCHED": "dist", "PIRN_NEW_ONE": "7"}


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        ({}, "bytes [PIRN_STACK; default 64K]"),
        (
            {"default_pthread": "ulimit -s"},
            "bytes [PIRN_STACK; default 64K; under the pthread API: ulimit -s]",
        ),
    ],
)
def test_detail_names_the_default_of_each_api(own: dict[str, str], expected: str) -> None:
    stack = {
        "name": "stack",
        "env": "PIRN_STACK",
        "type": "size",
        "default": "64K",
        "help": "bytes",
    }
    text = json.dumps({"version": "1", "options": [stack | own], "policies": []})
    assert parse(text).options[0].detail == expected
