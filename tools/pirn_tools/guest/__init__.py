# SPDX-License-Identifier: MIT
"""Linux in QEMU: images, machines, and what runs in them."""
