"""Components are bundled by writing files one after the other, so that their top-level names share a module."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

import tilewright.static
from tilewright.app.components.esm import bundle

COMPONENTS = Path(tilewright.static.__file__).parent / "components"
NAMES = sorted(file.name for file in COMPONENTS.glob("*.js"))

TOP_LEVEL = re.compile(r"^(?:export )?(?:async )?(?:function\*?|class|const|let) +(\w+)", re.MULTILINE)
IMPORTED = re.compile(r'^import \{ ?([^}]*?) ?\} from "\./(\w+\.js)";$', re.MULTILINE)
EXPORTED = re.compile(r"^export (?:async )?(?:function\*?|class|const|let) +(\w+)", re.MULTILINE)


@pytest.mark.parametrize("name", NAMES)
def test_no_name_is_declared_twice_in_a_bundle(name: str) -> None:
    counts = Counter(TOP_LEVEL.findall(bundle(name)))
    assert not [declared for declared, count in counts.items() if count > 1]


@pytest.mark.parametrize("name", NAMES)
def test_what_is_imported_is_exported_there(name: str) -> None:
    for names, file in IMPORTED.findall((COMPONENTS / name).read_text(encoding="utf-8")):
        exported = set(EXPORTED.findall((COMPONENTS / file).read_text(encoding="utf-8")))
        assert {part.strip() for part in names.split(",")} <= exported, file


@pytest.mark.parametrize("name", NAMES)
def test_every_import_is_one_that_the_bundle_follows(name: str) -> None:
    text = (COMPONENTS / name).read_text(encoding="utf-8")
    assert len(re.findall(r"^import\b", text, re.MULTILINE)) == len(IMPORTED.findall(text))
    assert not re.search(r"^import\b", bundle(name), re.MULTILINE)
