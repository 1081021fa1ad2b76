"""Runs the tutorials and writes their outputs into them: `PYTHONPATH=tests python -m support.record.tutorials`."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from support.browser.jupyter import in_surroundings

if TYPE_CHECKING:
    import nbformat

FOLDER = Path(__file__).parents[3] / "docs" / "tutorials"


def executed(path: Path) -> nbformat.NotebookNode:
    """The notebook after its cells ran in a fresh kernel. Raises if one fails."""
    import nbformat  # slow to import
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder, in_surroundings(Path(folder)):
        client = NotebookClient(notebook, timeout=300, kernel_name="python3", store_widget_state=False)
        return client.execute(cwd=folder)


def main() -> None:
    import nbformat

    for path in sorted(FOLDER.glob("*.ipynb")):
        notebook = executed(path)
        for cell in notebook.cells:
            cell.get("metadata", {}).pop("execution", None)  # when it ran
        nbformat.write(notebook, path)
        print(path.name)


if __name__ == "__main__":
    main()
