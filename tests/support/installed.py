"""The package in the layout of an installation, by links: pyproject.toml maps its parts to folders of the repository."""

from __future__ import annotations

import tomllib
from pathlib import Path


def link_package(site: Path, root: Path) -> Path:
    """Create the package of the repository at `root` in the folder `site`; return the package's folder."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    (name, folder), *parts = project["tool"]["setuptools"]["package-dir"].items()
    package = site / name
    package.mkdir(parents=True)
    for file in (root / folder).iterdir():
        (package / file.name).symlink_to(file)
    for part, folder in parts:
        link = package.joinpath(*part.removeprefix(f"{name}.").split("."))
        link.parent.mkdir(exist_ok=True)
        link.symlink_to(root / folder)
    return package
