# SPDX-License-Identifier: MIT
"""`python -m pirn_tools` is the pirn command."""

from pirn_tools.cli import entry

entry()
