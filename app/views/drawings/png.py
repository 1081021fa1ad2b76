"""A drawing as PNG by resvg, an SVG renderer without a browser; text uses system fonts."""

from __future__ import annotations


def png_of(svg: str, scale: float = 2) -> bytes:
    """The PNG at `scale` times the natural size. Theme "auto" renders as light."""
    import resvg_py  # a renderer in native code, which only pictures use

    return bytes(resvg_py.svg_to_bytes(svg_string=svg, zoom=scale, sans_serif_family="DejaVu Sans"))
