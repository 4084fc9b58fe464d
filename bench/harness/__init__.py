# SPDX-License-Identifier: MIT
"""What run_micro.py and run_macro.py share: paired rounds, goals, the machine, tables, plots."""
