"""Chromium as the tests use it: Debian's, headless, and each page with what it complained of."""

import shutil
from contextlib import contextmanager

from playwright.sync_api import sync_playwright

# The last three keep the browser itself off the network.
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
WIDE = {"width": 1440, "height": 900}
NARROW = {"width": 360, "height": 740}
# A page that is not ready after this long is broken, ms.
READY_MS = 30_000

READY = """(limit) => Promise.race([
  Promise.resolve(window.trimbench?.ready ?? Promise.reject('no window.trimbench.ready')),
  new Promise((_, reject) => setTimeout(() => reject('not ready'), limit)),
])"""


@contextmanager
def browser():
    """A browser with a profile of its own, gone afterwards."""
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=FLAGS
        )
        try:
            yield chromium
        finally:
            chromium.close()


@contextmanager
def report(chromium, url, change=None, **options):
    """The page in a context of its own, drawn to its end.

    `options` are Playwright's for a context. `change` is JavaScript that runs when the page is
    ready. What the page complains of and asks for is in `page.complaints` and `page.requests`.
    """
    options = {"viewport": WIDE, "color_scheme": "light", **options}
    context = chromium.new_context(**options)
    context.set_default_timeout(READY_MS)
    page = context.new_page()
    page.complaints, page.requests = [], []
    page.on("pageerror", lambda error: page.complaints.append(f"error: {error}"))
    page.on("console", lambda message: complain(page, message))
    page.on("request", lambda request: page.requests.append(request.url))
    try:
        page.goto(url)
        if options.get("java_script_enabled", True):
            page.evaluate(f"({READY})({READY_MS}).then(() => null)")
            if change:
                page.evaluate(change)
        yield page
    finally:
        context.close()


def complain(page, message):
    if message.type in ("error", "warning", "assert"):
        page.complaints.append(f"{message.type}: {message.text}")


@contextmanager
def empty(chromium):
    """An empty page, to compute in."""
    context = chromium.new_context()
    try:
        yield context.new_page()
    finally:
        context.close()
