"""Cards of notebook files."""

import os
from pathlib import Path

import pytest
from support.record.thumbnails import as_text, drawn

from tilewright.app.actions.opening import OpenText
from tilewright.app.actions.table import act
from tilewright.app.document import DocumentError, read_document
from tilewright.app.state.addresses import Address
from tilewright.app.state.model import State
from tilewright.app.views.shell.gallery import (
    FOLDER,
    MOST_FILES,
    THUMBNAILS,
    TemplateChoice,
    example_at,
    example_of,
    gallery_value,
    load_examples,
    load_folder,
    load_templates,
    load_thumbnails,
    template_text,
)
from tilewright.app.views.shell.model_cards import example_models
from tilewright.app.views.shell.thumbnails import digest

NOTEBOOK = "# %% [markdown]\n# # Mine\n#\n# It does a thing.\n"


def test_example_cards_have_a_title_a_sentence_and_facts() -> None:
    examples = load_examples()
    assert [e.name for e in examples][:2] == ["place_the_copies", "what_moves_what"]
    for example in examples:
        assert example.title and "`" not in example.title and "*" not in example.title
        assert len(example.sentence) > 30, example.sentence
        assert len(example.facts) == 3


def test_the_address_of_an_example_may_name_a_model_and_an_unknown_one_has_neighbours() -> None:
    examples = (*load_examples(), *example_models())
    assert example_at(examples, Address("example", "transformer_layer")).model == "transformer_layer"
    with pytest.raises(DocumentError) as unknown:
        example_at(examples, Address("example", "box_blue"))
    assert unknown.value.refusal.expected.startswith("'box_blur'")


@pytest.mark.slow
def test_every_example_opens_without_an_error() -> None:
    for example in load_examples():
        state = act(State(), OpenText(example.text, example.title))
        assert state.notebook is not None and state.notebook.error is None, (example.name, state.notice)


@pytest.mark.parametrize(
    ("name", "discussion", "question"),
    [
        (
            "what_moves_what",
            "Compute_at vs set_scope",
            "What is the difference between the compute_at and set_scope functions?",
        ),
        ("vtcm_two_halves", "TIR - Non contiguous memory", "However, I need it in this shape: [2][4096]."),
        (
            "box_blur",
            "How to control data layout of intermediate values",
            "I would like X to be computed in [y, x, c] order but stored in [x, c, y] order.",
        ),
        (
            "fused_matmul_relu",
            "",
            "The vector unit immediately consumes that same tile from the same local buffer, without going through global "
            "memory.",
        ),
        ("gemmini_gemm", "", ""),
    ],
)
def test_card_of_a_forum_example_has_the_question(name: str, discussion: str, question: str) -> None:
    (found,) = (e for e in load_examples() if e.name == name)
    assert (found.discussion, found.question) == (discussion, question)


@pytest.mark.slow
def test_the_stored_thumbnails_are_current() -> None:
    kept = (FOLDER / THUMBNAILS).read_text(encoding="utf-8")
    assert kept == as_text(drawn()), "PYTHONPATH=tests python -m support.record.thumbnails"
    known = load_thumbnails()
    assert all(digest(example.text) in known for example in load_examples())


def test_cards_with_thumbnails_have_simulated_metrics() -> None:
    cards = {c.name: c for c in gallery_value(State(), load_examples(), load_thumbnails()).examples}
    assert cards["vtcm_double_buffer"].figures == ["203\u202f064 cycles", "64\u202f% overlap"]
    assert cards["cache_blocking"].figures == ["5\u202f131\u202f712 cycles"]
    assert "double_buffer" in cards["vtcm_double_buffer"].words and "vta" in cards["vta_gemm"].words
    assert gallery_value(State(), load_examples()).examples[0].thumbnail is None


def test_notebooks_of_the_folder_are_listed_newest_first(tmp_path: Path) -> None:
    for age, name in enumerate(("old", "new", "newest")):
        (tmp_path / f"{name}.py").write_text(NOTEBOOK)
        os.utime(tmp_path / f"{name}.py", (age, age))
    (tmp_path / "setup.py").write_text("print('nothing to see')\n")
    (tmp_path / "bytes.py").write_bytes(b"\xff\xfe# %% \xff")
    (tmp_path / "folder.py").mkdir()
    found = load_folder(tmp_path)
    assert [(e.name, e.title, e.changed) for e in found] == [
        ("newest.py", "Mine", 2.0),
        ("new.py", "Mine", 1.0),
        ("old.py", "Mine", 0.0),
    ]
    assert found[0].path == str(tmp_path / "newest.py")
    value = gallery_value(State(), found, {}, "work")
    assert value.folder == "work" and [c.changed for c in value.examples] == [2.0, 1.0, 0.0]


def test_a_kernel_without_a_prim_func_is_listed(tmp_path: Path) -> None:
    (tmp_path / "eager.py").write_text("import tilelang\n@tilelang.jit\ndef f(A):\n    with T.Kernel(1) as b: pass\n")
    assert [found.name for found in load_folder(tmp_path)] == ["eager.py"]


def test_only_the_newest_of_many_files_have_cards(tmp_path: Path) -> None:
    for n in range(MOST_FILES + 5):
        (tmp_path / f"n{n:03}.py").write_text(NOTEBOOK)
        os.utime(tmp_path / f"n{n:03}.py", (n, n))
    assert [e.name for e in load_folder(tmp_path)][:1] == [f"n{MOST_FILES + 4:03}.py"]
    assert len(load_folder(tmp_path)) == MOST_FILES


def test_the_title_of_a_file_without_prose_is_its_name() -> None:
    assert example_of("bare", read_document("x = 1\n")).title == "bare"


def test_the_gallery_explains_a_failed_opening() -> None:
    value = gallery_value(act(State(), OpenText("def f(:")), ())
    assert value.problem.message


@pytest.mark.parametrize("template", load_templates(), ids=lambda template: template.name)
def test_each_template_is_a_notebook_of_a_typical_kernel(template: TemplateChoice) -> None:
    state = act(State(), OpenText(template_text(template.name)))
    assert state.notice is None and state.notebook is not None and state.notebook.error is None
    assert state.title == template.title and state.pane == "next" and state.related == ()


def test_an_unknown_template_is_refused() -> None:
    with pytest.raises(DocumentError, match="no such template"):
        template_text("../examples/box_blur")
