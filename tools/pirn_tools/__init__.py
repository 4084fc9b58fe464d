# SPDX-License-Identifier: MIT
"""The pirn command: runs, compares and measures programs on the Pirn threads runtime."""

__version__ = "0.1.0"
