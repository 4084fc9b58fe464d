# SPDX-License-Identifier: MIT
"""The chip of hw/: its simulator is built for a configuration when it is needed, and run."""
