# SPDX-License-Identifier: MIT
"""Headless Chromium: a page whose script uses it as a person does, and what that has seen.

Without a browser (tools/setup --group browser installs one) such tests are skipped, and say so.
"""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
BROWSER = next((found for name in NAMES if (found := shutil.which(name))), None)
needs_browser = pytest.mark.skipif(
    BROWSER is None, reason="no Chromium: tools/setup --group browser installs it"
)


def browse(path: Path, document: str) -> dict[str, Any]:
    """Opens the document from the disk; the JSON that it has put into an element called `seen`."""
    path.write_text(document, encoding="utf-8")
    command = [str(BROWSER), "--headless", "--no-sandbox", "--disable-gpu"]
    command += [f"--user-data-dir={path.parent / 'profile'}", "--window-size=1200,900"]
    command += ["--virtual-time-budget=20000", "--dump-dom", path.as_uri()]
    environment = {**os.environ, "HOME": str(path.parent)}
    result = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=120, env=environment
    )
    found = re.search(r'id="seen">(.*?)</', result.stdout, re.DOTALL)
    assert found is not None, result.stdout[-2000:] + result.stderr[-2000:]
    seen: dict[str, Any] = json.loads(html.unescape(found[1]))
    assert "error" not in seen, seen["error"]
    return seen
