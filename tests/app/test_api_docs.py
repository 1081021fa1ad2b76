"""docs/api.md is the one that the code makes, and says something of everything."""

from support.record_api import PAGE, api_page

from tilewright.app.views.account import PARTS
from tilewright.app.wire import FORMS, described


def test_the_page_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == api_page(), "PYTHONPATH=tests python -m support.record_api"


def test_every_intent_and_part_has_words_of_its_own() -> None:
    silent = [name for name, form in FORMS.items() if len(described(form)[0]) < 12]
    assert not silent, "their docstrings say nothing"
    assert all(part.__doc__ for part in PARTS.values())
