"""A real Chromium: found on the machine, else installed; the sentence how to get it when neither works.

    python tests/browser/chromium.py

Looks for the browsers that systems bring, then for the one that Playwright brings. As root on Debian the system's
package is installed, elsewhere Playwright's own.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge")
PLACES = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
)
HOW = (
    "the browser tests need a Chromium: install one (Debian: apt-get install chromium; anywhere: "
    ".venv/bin/python -m playwright install chromium), or name yours in CHROMIUM"
)
FLAGS = (
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # Root may not use the browser's own sandbox; all that is opened here is ours.
    *(["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []),
)


def find() -> str | None:
    """Where a Chromium is."""
    for found in (os.environ.get("CHROMIUM"), *map(shutil.which, NAMES), *PLACES, _playwrights_own()):
        if found and Path(found).exists():
            return found
    return None


def _playwrights_own() -> str | None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        return playwright.chromium.executable_path


def install() -> None:
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    if is_root and shutil.which("apt-get"):
        print("installing Chromium (Debian's package, once)", flush=True)
        commands = [["apt-get", "update"], ["apt-get", "install", "-y", "chromium"]]
    else:
        print("installing Chromium (Playwright's own, once)", flush=True)
        commands = [[sys.executable, "-m", "playwright", "install", "chromium"]]
    for command in commands:
        if subprocess.run(command, capture_output=True, check=False, timeout=900).returncode:
            return


def main() -> int:
    if find() is None:
        install()
    if find() is None:
        print(HOW, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
