# SPDX-License-Identifier: MIT
"""Boards without an operating system: their compilers and C libraries, and running on them."""
