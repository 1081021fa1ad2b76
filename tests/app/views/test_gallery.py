"""Cards out of notebook files."""

from pathlib import Path

from tilewright.app.actions import OpenText, act
from tilewright.app.document import read_document
from tilewright.app.state import State
from tilewright.app.views.gallery import example_of, gallery_value, load_examples


def test_given_the_examples_then_each_has_a_title_a_sentence_and_facts() -> None:
    examples = load_examples()
    assert [e.name for e in examples][:2] == ["place_the_copies", "vtcm_double_buffer"]
    for example in examples:
        assert example.title and "`" not in example.title and "*" not in example.title
        assert len(example.sentence) > 30, example.sentence
        assert len(example.facts) == 3


def test_given_every_example_then_it_opens_without_an_error() -> None:
    for example in load_examples():
        state = act(State(), OpenText(example.text, example.title))
        assert state.notebook is not None and state.notebook.error is None, (example.name, state.notice)


def test_given_a_folder_then_its_notebooks_are_the_gallery(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("# %% [markdown]\n# # Mine\n#\n# It does a thing.\n")
    assert [(e.name, e.title, e.sentence) for e in load_examples(tmp_path)] == [("mine", "Mine", "It does a thing.")]


def test_given_a_file_without_prose_then_its_name_is_its_title() -> None:
    assert example_of("bare", read_document("x = 1\n")).title == "bare"


def test_given_a_text_that_did_not_open_then_the_gallery_says_why() -> None:
    value = gallery_value(act(State(), OpenText("def f(:")), ())
    assert value["problem"].message
