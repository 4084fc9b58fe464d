# SPDX-License-Identifier: MIT
"""`pirn demo`: a real video decoded under NPTL and under every policy of Pirn."""
