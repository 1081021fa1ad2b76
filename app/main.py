"""What `panel serve app/main.py` serves. The file runs outside of its package, so its imports are absolute."""

# pyright: reportMissingImports=false

from tilewright.app.shell import make_page

make_page().servable(title="Tilewright")
