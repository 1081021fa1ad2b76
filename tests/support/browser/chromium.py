"""The browser of the end-to-end tests: an installed one, else Playwright's own download, else Debian's package.

`python tests/support/browser/chromium.py --install` prints its path and fetches one if needed; tests call `find()`, which never fetches.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def find() -> str | None:
    """The path of a Chromium that starts: $TILEWRIGHT_CHROMIUM, one on the PATH, or Playwright's."""
    return next((path for path in _candidates() if _starts(path)), None)


def _candidates() -> Iterator[str]:
    named = os.environ.get("TILEWRIGHT_CHROMIUM")
    if named:
        yield named
    yield from filter(None, map(shutil.which, NAMES))
    found = _playwrights_own()
    if found:
        yield found


def _playwrights_own() -> str | None:
    """The path of Playwright's Chromium, queried in a separate process: its event loop would stay with the tests."""
    code = "from playwright.sync_api import sync_playwright as s\nwith s() as p: print(p.chromium.executable_path)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    path = done.stdout.strip()
    return path if path and Path(path).exists() else None


def _starts(path: str) -> bool:
    """A name on the PATH may be a snap's stub, and a download may lack its libraries."""
    try:
        done = subprocess.run([path, "--version"], capture_output=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def install() -> str | None:
    """`find()`, after fetching a Chromium if there is none."""
    found = find()
    for command in () if found else _ways():
        print(f"no Chromium yet, trying: {' '.join(command)}", file=sys.stderr)
        try:
            subprocess.run(command, stdout=sys.stderr, timeout=900, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            print(f"that did not work: {error}", file=sys.stderr)
        found = find()
        if found:
            break
    return found


def _ways() -> Iterator[list[str]]:
    yield [sys.executable, "-m", "playwright", "install", "chromium"]
    root = [] if os.geteuid() == 0 else ["sudo", "-n"]
    if shutil.which("apt-get") and (not root or shutil.which("sudo")):
        yield [*root, "apt-get", "update", "-q"]
        yield [*root, "apt-get", "install", "-q", "-y", "--no-install-recommends", "chromium"]


if __name__ == "__main__":
    path = install() if "--install" in sys.argv else find()
    if path is None:
        sys.exit("no Chromium: install one, or name it in TILEWRIGHT_CHROMIUM")
    print(path)
