# SPDX-License-Identifier: MIT
"""Modules that the runners share: paired rounds, goals, the machine, tables, plots."""
