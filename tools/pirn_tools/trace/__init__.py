# SPDX-License-Identifier: MIT
"""`pirn trace`: records event traces, and reads them."""
