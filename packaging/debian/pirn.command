#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The pirn command. Its package is private to it."""

import sys

sys.path.insert(0, "/usr/share/pirn/python")

from pirn_tools.cli import entry  # noqa: E402

entry()
