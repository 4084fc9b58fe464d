#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reads the built site in headless Chromium, as a visitor would: make check-site.

It opens every page that a link leads to, beginning with the first. Each link within the site must
lead to a file that exists, each anchor to an element. Each picture must load. No script may fail,
and no page may ask another host. The search must find words that are on the pages, and nothing for
a word that is on none. Without a browser it says that it skips.
"""

from __future__ import annotations

import argparse
import functools
import http.server
import shutil
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag, urlsplit

ROOT = Path(__file__).resolve().parent.parent.parent
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
FOUND = ("victim", "mailbox", "pthread_create")  # words of pages
NOT_FOUND = "xyzzyplugh"
PAGES_AT_LEAST = 30
LINKS = "nodes => nodes.map(a => a.href)"
IDS = "nodes => nodes.map(n => n.id)"
BROKEN = "nodes => nodes.filter(i => !i.complete || i.naturalWidth === 0).map(i => i.src)"


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002, ANN401
        """Says nothing."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()


@dataclass
class Reader:
    """The parts of the site that have been seen so far."""

    page: Any  # a page of playwright
    base: str
    folder: Path
    faults: list[str] = field(default_factory=list)
    ids: dict[str, set[str]] = field(default_factory=dict)  # of each page that was opened
    links: dict[str, str] = field(default_factory=dict)  # target with anchor -> where it was seen
    pictures: int = 0

    def watch(self) -> None:
        self.page.on("pageerror", lambda error: self.fault(f"a script fails: {error}"))
        self.page.route("**/*", self.allow)

    def allow(self, route: Any) -> None:  # noqa: ANN401
        if route.request.url.startswith((self.base, "data:")):
            route.continue_()
        else:
            self.fault(f"asks another host: {route.request.url}")
            route.abort()

    def fault(self, text: str) -> None:
        self.faults.append(f"{self.page.url.removeprefix(self.base)}: {text}")

    def open(self, url: str) -> None:
        answer = self.page.goto(url, wait_until="load")
        self.ids[url] = set(self.page.eval_on_selector_all("[id]", IDS))
        if answer is None or answer.status != 200:
            self.fault(f"status {answer.status if answer else 'unknown'}")
        self.pictures += self.page.locator("img").count()
        # Those below the window are loaded when they come into sight.
        self.page.eval_on_selector_all("img", "nodes => nodes.forEach(i => i.loading = 'eager')")
        self.page.wait_for_function("[...document.images].every(i => i.complete)")
        for source in self.page.eval_on_selector_all("img", BROKEN):
            self.fault(f"a picture does not load: {source.removeprefix(self.base)}")

    def follow(self) -> Iterator[str]:
        """Pages that the page links to; remembers all links within the site."""
        here = self.page.url
        for target in self.page.eval_on_selector_all("a[href]", LINKS):
            if target.startswith(self.base):
                self.links.setdefault(target, here)
                if urlsplit(target).path.endswith(".html"):
                    yield urldefrag(target).url

    def read_all(self) -> None:
        todo = [self.base + "README.html"]
        while todo:
            url = todo.pop()
            if url not in self.ids:
                self.open(url)
                todo += self.follow()

    def check_links(self) -> None:
        for target, seen in self.links.items():
            url, anchor = urldefrag(target)
            where = f"{seen.removeprefix(self.base)}: {target.removeprefix(self.base)}"
            path = self.folder / unquote(urlsplit(url).path.lstrip("/"))
            if not path.is_file():
                self.faults.append(f"{where}: there is no such file")
            elif anchor and url in self.ids and unquote(anchor) not in self.ids[url]:
                self.faults.append(f"{where}: the page has no such place")

    def search(self, word: str) -> int:
        """Types the word into the search field; the number of results."""
        self.page.goto(self.base + "README.html")
        field_ = self.page.locator("input[name=q]").first
        field_.fill(word)
        field_.press("Enter")
        self.page.wait_for_url("**/search.html?q=*")
        # "Search finished" or "did not match": the list is complete then.
        self.page.wait_for_function(
            "() => /finished|did not match/i"
            ".test(document.querySelector('#search-results')?.innerText ?? '')"
        )
        return int(self.page.locator("#search-results ul.search > li > a").count())

    def check_search(self) -> None:
        for word in FOUND:
            if self.search(word) == 0:
                self.fault(f'the search finds no page with "{word}"')
        if self.search(NOT_FOUND) != 0:
            self.fault(f'the search finds a page with "{NOT_FOUND}"')


def read(folder: Path, browser: str) -> Reader:
    from playwright.sync_api import sync_playwright

    with served(folder) as base, sync_playwright() as play:
        started = play.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        reader = Reader(started.new_page(), base, folder)
        reader.page.goto(base)  # the first page by its folder's name
        reader.page.wait_for_url("**/README.html")
        reader.watch()
        reader.read_all()
        reader.check_links()
        reader.check_search()
        started.close()
    return reader


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("site", type=Path, nargs="?", default=ROOT / "build/site")
    folder = parser.parse_args().site.resolve()
    if not (folder / "index.html").is_file():
        print(f"{folder} has no site: make site", file=sys.stderr)
        return 2
    browser = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if browser is None:
        print("check site: skipped, there is no Chromium (tools/setup --group browser)")
        return 0
    reader = read(folder, browser)
    for fault in sorted(set(reader.faults)):
        print(fault, file=sys.stderr)
    if len(reader.ids) < PAGES_AT_LEAST:
        print(f"only {len(reader.ids)} pages can be reached", file=sys.stderr)
        return 1
    verdict = f"{len(set(reader.faults))} fault(s)" if reader.faults else "ok"
    read_ = f"{len(reader.ids)} pages, {len(reader.links)} links, {reader.pictures} pictures"
    print(f"check site: {read_}, {verdict}")
    return 1 if reader.faults else 0


if __name__ == "__main__":
    sys.exit(main())
