"""Reads the built site as a visitor does, in headless Chromium: python check.py FOLDER

Opens the front page, searches for a term and follows a result, goes through the tabs, turns on the dark mode,
opens the Javadoc, and fails on any error that the browser logs. Needs chromium and chromedriver on the PATH.
"""

import functools
import http.server
import shutil
import sys
import tempfile
import threading

from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

LIMIT = 120  # seconds for what a page does by itself: the machine may be busy
TERM = "serializable"


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


def browser(profile):
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for flag in (
        "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
        "--disable-background-networking", "--disable-component-update", "--disable-sync",
        f"--user-data-dir={profile}", "--window-size=1400,1000",
    ):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "SEVERE"})
    return webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))


def check(page, base):
    def wait(what, condition):
        return WebDriverWait(page, LIMIT).until(condition, f"{what}: {page.current_url}")

    def find(css):
        return page.find_element(By.CSS_SELECTOR, css)

    page.get(base)
    assert "Fovea" in page.title, page.title
    assert "transactional storage engine" in find("article").text
    image = find("article img")
    wait("the plot of the front page", lambda p: int(image.get_property("naturalWidth")) > 0)

    box = find("input.md-search__input")
    page.execute_script("arguments[0].focus()", box)
    box.send_keys(TERM)
    result = wait(
        "results of the search",
        lambda p: p.find_elements(By.CSS_SELECTOR, "a.md-search-result__link"))[0]
    goal = result.get_attribute("href")
    page.get(goal)
    assert TERM in find("article").text.lower(), goal
    print(f"search: {TERM} -> {goal.removeprefix(base).split('?')[0]}")

    page.get(base)
    tabs = [a.get_attribute("href") for a in page.find_elements(By.CSS_SELECTOR, "a.md-tabs__link")]
    assert len(tabs) > 5, tabs
    for tab in tabs:
        page.get(tab)
        assert page.find_elements(By.CSS_SELECTOR, "h1"), tab
    print(f"tabs: {len(tabs)}")

    page.get(base)
    scheme = find("body").get_attribute("data-md-color-scheme")
    page.execute_script("document.querySelector('label[for=__palette_1], label[for=__palette_0]:not([hidden])').click()")
    wait("dark mode", lambda p: find("body").get_attribute("data-md-color-scheme") != scheme)

    page.get(base + "api/engine/index.html")
    assert "Fovea" in page.page_source and "io.fovea" in page.page_source
    page.get(base + "api/engine/search.html?q=Database")
    print("dark mode, Javadoc: found")

    errors = [e for e in page.get_log("browser") if "favicon" not in e["message"]]
    assert not errors, errors


def main(folder):
    handler = functools.partial(Quiet, directory=folder)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as profile:
        page = browser(profile)
        try:
            check(page, f"http://127.0.0.1:{server.server_address[1]}/")
        finally:
            page.quit()
    print("the site reads well")


if __name__ == "__main__":
    main(sys.argv[1])
