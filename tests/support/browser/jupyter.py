"""A private Jupyter server, and notebooks operated in its pages like a user."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page

from tilewright.app.cli.commands.serve import free_port

START_SECONDS = 120.0
CELL_MS = 60_000


class Server:
    """The address of the server, and its browser context."""

    def __init__(self, address: str, token: str, folder: Path) -> None:
        self.address, self.token, self.folder = address, token, folder

    def url(self, front_end: str, name: str) -> str:
        """The page of a notebook in JupyterLab ("lab") or in Notebook 7 ("notebook")."""
        path = "lab/tree" if front_end == "lab" else "notebooks"
        return f"{self.address}/{path}/{name}?token={self.token}&reset"

    def open(self, page: Page, front_end: str, name: str) -> None:
        """Show a notebook, and wait until its kernel answers the page: earlier cells may be lost."""
        kernel = {"kernel": {"name": "python3"}, "name": name, "path": name, "type": "notebook"}
        started = self._request("sessions", kernel)["kernel"]["id"]
        page.goto(self.url(front_end, name))
        cell(page, 0).wait_for(timeout=START_SECONDS * 1000)
        end = time.monotonic() + START_SECONDS
        while (now := self._request(f"kernels/{started}"))["execution_state"] != "idle" or not now["connections"]:
            if time.monotonic() > end:
                raise TimeoutError(f"the kernel is {now}")
            page.wait_for_timeout(100)

    def _request(self, what: str, data: object = None) -> Any:
        request = urllib.request.Request(
            f"{self.address}/api/{what}",
            None if data is None else json.dumps(data).encode(),
            {"Authorization": f"token {self.token}", "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)


def surroundings(folder: Path) -> dict[str, str]:
    """Variables that confine Jupyter and IPython to a folder: none of the user's settings, nothing left behind."""
    names = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR", "JUPYTERLAB_WORKSPACES_DIR")
    found = {name: str(folder / name.lower()) for name in names}
    return {**found, "JUPYTERLAB_SETTINGS_DIR": str(folder / "settings"), "JUPYTER_PREFER_ENV_PATH": "1"}


@contextmanager
def in_surroundings(folder: Path) -> Iterator[None]:
    """This process with those variables, for kernels that it starts."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in surroundings(folder).items():
            patch.setenv(name, value)
        yield


@contextmanager
def jupyter_server(folder: Path) -> Iterator[Server]:
    """JupyterLab and Notebook on a free port of 127.0.0.1, with a token, over `folder / "work"`; ended with its kernels afterwards."""
    (folder / "work").mkdir(parents=True, exist_ok=True)
    quiet = folder / "settings" / "@jupyterlab" / "apputils-extension" / "notification.jupyterlab-settings"
    quiet.parent.mkdir(parents=True, exist_ok=True)
    quiet.write_text(json.dumps({"fetchNews": "false", "checkForUpdates": False}), encoding="utf-8")
    token, port = secrets.token_hex(16), free_port(0)
    command = [
        sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--ServerApp.root_dir={folder / 'work'}",
        "--ServerApp.ip=127.0.0.1", f"--ServerApp.port={port}", "--ServerApp.port_retries=0", f"--IdentityProvider.token={token}",
        "--LabApp.news_url=None", "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    ]  # fmt: skip
    log = (folder / "server.log").open("w", encoding="utf-8")
    process = subprocess.Popen(
        command, stdout=log, stderr=subprocess.STDOUT, env={**os.environ, **surroundings(folder)}
    )
    server = Server(f"http://127.0.0.1:{port}", token, folder / "work")
    try:
        _wait_for(server, process, folder / "server.log")
        yield server
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        log.close()


def _wait_for(server: Server, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        if process.poll() is not None:
            raise RuntimeError(f"Jupyter ended: {log.read_text(encoding='utf-8')[-2000:]}")
        try:
            with urllib.request.urlopen(f"{server.address}/api", timeout=2):
                return
        except (OSError, urllib.error.URLError):
            time.sleep(0.2)
    raise TimeoutError(f"Jupyter does not answer: {log.read_text(encoding='utf-8')[-2000:]}")


def write_notebook(path: Path, *cells: str, metadata: Mapping[str, object] | None = None) -> None:
    """A notebook of code cells for the running Python."""
    import nbformat  # slow to import

    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(cell) for cell in cells], metadata={"kernelspec": kernel, **(metadata or {})}
    )
    nbformat.write(notebook, path)


def cell(page: Page, number: int) -> Locator:
    return page.locator(".jp-Notebook .jp-Cell").nth(number)


def run_cell(page: Page, number: int) -> Locator:
    """Run a cell with Shift+Enter and wait until it is done."""
    found = cell(page, number)
    prompt = found.locator(".jp-InputPrompt").first
    before = prompt.inner_text()
    found.locator(".jp-InputArea-editor").click()
    page.keyboard.press("Shift+Enter")
    page.wait_for_function(
        "([element, before]) => /\\[\\d+\\]/.test(element.textContent) && element.textContent.trim() !== before.trim()",
        arg=[prompt.element_handle(), before],
        timeout=CELL_MS,
    )
    return found
