"""The app for `panel serve app/main.py`. An installed package adds the plugin to that command (`tilewright/panel_start.py`); without the
plugin the app ends the server.

Panel runs the file outside of its package, so its imports are absolute.
"""

# pyright: reportMissingImports=false

import sys

from tornado.ioloop import IOLoop

PLUGIN = "tilewright.app.server.panel_plugin"
"""Panel imports it when it starts; to import it here would be too late for requests that were answered before."""

if PLUGIN in sys.modules:
    from tilewright.app.server.page_application import make_page

    api_context = sys.modules[PLUGIN].API_CONTEXT
    make_page(sessions=api_context.sessions, open_files=api_context.open_files).servable(title="Tilewright")
else:
    print(
        "tilewright: a server without the access check would answer every request, so it stops.\n"
        f"Start it with: panel serve app/main.py --plugins {PLUGIN}\n"
        "or with: tilewright serve",
        file=sys.stderr,
        flush=True,
    )
    IOLoop.current().add_callback(IOLoop.current().stop)
