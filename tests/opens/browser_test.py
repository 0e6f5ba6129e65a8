"""Every golden HTML and SVG page opens in a browser, which then asks nobody for anything.

    browser_test.py PAGES SCRATCH
"""
import json
import pathlib
import shutil
import subprocess
import sys

SKIPPED = 77
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def requested(net_log: pathlib.Path) -> set[str]:
    """URLs that the page asked for over a network, by the browser's own log.

    What the browser asks for itself (updates, the time) has no initiator: "not an origin".
    """
    events = json.loads(net_log.read_text())["events"]
    asked = [event["params"] for event in events if isinstance(event.get("params"), dict)]
    return {params["url"] for params in asked
            if "url" in params and params.get("initiator", "not an origin") != "not an origin"
            and params["url"].startswith(("http:", "https:", "ws:", "wss:", "ftp:"))}


def open_page(browser: str, page: pathlib.Path, scratch: pathlib.Path) -> str:
    """Complaint about the page, or nothing."""
    net_log = scratch / (page.name + ".netlog.json")
    ran = subprocess.run(
        [browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
         "--no-first-run", "--disable-background-networking", "--disable-component-update",
         "--disable-sync", "--disable-default-apps", f"--user-data-dir={scratch / 'profile'}",
         f"--log-net-log={net_log}", "--dump-dom", page.as_uri()],
        capture_output=True, text=True, timeout=120)
    if ran.returncode != 0:
        return "the browser failed: " + ran.stderr[-400:]
    if "parsererror" in ran.stdout:
        return "the browser cannot parse it"
    if "I love AI" not in ran.stdout and page.stem == "i-love-ai":
        return "the page does not say I love AI"
    asked = requested(net_log)
    return f"asks for {sorted(asked)}" if asked else ""


def main() -> int:
    browser = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if browser is None:
        print("skipped: no browser (tools/install_packages.sh web)")
        return SKIPPED
    folder = pathlib.Path(sys.argv[1]).resolve()
    pages = sorted([*folder.glob("*.html"), *folder.glob("*.svg")])
    scratch = pathlib.Path(sys.argv[2], "browser").resolve()
    scratch.mkdir(parents=True, exist_ok=True)
    # The log would show a request: a page that makes one must be caught, or the test proves nothing.
    probe = scratch / "probe.html"
    probe.write_text('<title>probe</title><img src="http://127.0.0.1:9/probe.png">')
    if not open_page(browser, probe, scratch).startswith("asks for"):
        print("a page that makes a request was not caught")
        return 1
    complaints = {page.name: open_page(browser, page, scratch) for page in pages}
    for name, complaint in complaints.items():
        print(f"{name}: {complaint or 'opens, and asks for nothing'}")
    return 1 if not pages or any(complaints.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
