"""A drawing as PNG, by resvg: a renderer of SVG without a browser; letters come from the fonts of the system."""

from __future__ import annotations

import resvg_py


def png_of(svg: str, scale: float = 2) -> bytes:
    """The picture at `scale` times its natural size. Of theme "auto" it is the light one: there is no reader to ask."""
    return bytes(resvg_py.svg_to_bytes(svg_string=svg, zoom=scale, sans_serif_family="DejaVu Sans"))
