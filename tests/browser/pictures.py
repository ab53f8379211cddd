"""The pictures of the README: `make pictures`. A sandbox with some days of history, looked at in a real Chromium."""

import sys
from pathlib import Path

from playwright.sync_api import expect, sync_playwright

sys.path.insert(0, str(Path(__file__).parents[1]))

from browser import chromium
from yards import running

FOLDER = Path(__file__).parents[2] / "docs" / "pictures"
VIEWS = {"market": "", "asset": "/asset/AAPL"}


def main() -> int:
    path = chromium.find()
    if path is None:
        print(chromium.HOW, file=sys.stderr)
        return 1
    FOLDER.mkdir(exist_ok=True)
    up = running.Up(demo_days=2).wait_ready()
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=path, args=list(chromium.FLAGS))
            for name, view in VIEWS.items():
                page = browser.new_page(viewport={"width": 1280, "height": 800}, color_scheme="dark")
                page.goto(f"{up.base}/app{view}")
                if name == "market":
                    expect(page.locator("tbody tr").first.locator(".depth")).not_to_have_text("–", timeout=60_000)
                    expect(page.locator("tbody tr").nth(8).locator(".spark polyline")).to_be_attached(timeout=60_000)
                else:
                    expect(page.get_by_role("slider")).to_be_visible(timeout=60_000)
                    expect(page.locator(".skeleton")).to_have_count(0, timeout=60_000)
                page.screenshot(path=FOLDER / f"{name}.png")
                print(f"docs/pictures/{name}.png")
            browser.close()
    finally:
        up.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
