"""A page that imports modules of `static/components` as they are, without a bundle and without a server."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page, Route

from tilewright import static

COMPONENTS = Path(static.__file__).parent / "components"
ADDRESS = "http://components.test/"


def open_modules(page: Page, html: str, script: str) -> None:
    """Open a page with the body `html` and the module `script`, which imports `./FOLDER/FILE.js`."""

    def answer(route: Route) -> None:
        name = route.request.url.removeprefix(ADDRESS)
        if name:
            route.fulfill(path=COMPONENTS / name, content_type="text/javascript")
        else:
            route.fulfill(body=f"<body>{html}<script type=module>{script}</script>", content_type="text/html")

    page.route(f"{ADDRESS}**", answer)
    page.goto(ADDRESS)
