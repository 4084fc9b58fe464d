# SPDX-License-Identifier: MIT
"""`pirn bench figures`: pictures and tables of a publication, again from runs of our own."""
