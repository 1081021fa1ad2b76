"""A post is offered the worked examples that quote it, or that make most of its calls; its title is what it asks."""

from __future__ import annotations

import pytest
from support.programs.sources import MATMUL

from tilewright.app.actions.opening import OpenText
from tilewright.app.actions.table import act
from tilewright.app.document import read_document
from tilewright.app.document.title import title_of
from tilewright.app.state.derived import Store
from tilewright.app.state.model import State
from tilewright.app.views.notebook.value import notebook_value
from tilewright.app.views.shell.gallery import load_examples
from tilewright.engine.hwsim.simulate import example_size

QUESTION = "Where does cache_read go, and what does double_buffer do after transform_layout?"


def opened(text: str) -> State:
    return act(State(), OpenText(text))


def test_a_post_that_an_example_quotes_is_offered_that_example() -> None:
    state = opened(f"Compute_at vs set_scope\n\nWhat is the difference between them?\n\n```\n{MATMUL}```\n")
    assert [(one.name, one.is_answer) for one in state.related] == [("what_moves_what", True), ("start", False)]
    (banner,) = (b for b in notebook_value(state, Store(), {}).banners if b.kind == "related")
    assert banner.text == "A worked example answers this post."
    assert banner.links[0].path == "/example/what_moves_what"
    assert [page.path for page in banner.guide] == ["start"]
    assert set(banner.calls) == {"compute_at", "set_scope"}


def test_another_post_is_offered_examples_with_its_calls() -> None:
    state = opened(f"{QUESTION}\n\n```\n{MATMUL}```\n")
    assert [(one.kind, one.name) for one in state.related] == [
        ("example", "vtcm_double_buffer"),
        ("example", "box_blur"),
        ("guide", "layouts"),
    ]


@pytest.mark.parametrize("text", [MATMUL, f"A question about nothing.\n\n```\n{MATMUL}```\n", load_examples()[1].text])
def test_code_alone_other_posts_and_examples_are_offered_nothing(text: str) -> None:
    assert opened(text).related == ()


@pytest.mark.parametrize(
    ("prose", "title"),
    [
        ("Hey @a,\nThanks for this! I tried to move a block. It fails.", "I tried to move a block"),
        ("```\n# move the block\n```\nHow do I move a block here?", "How do I move a block here?"),
        ("Hi", "matmul"),
        ("word " * 40, "word " * 15 + "word…"),
    ],
)
def test_the_title_of_a_post_is_its_first_sentence_and_never_a_comment(prose: str, title: str) -> None:
    comments = "\n".join(f"# {line}" for line in prose.splitlines())
    document = read_document(f"# %% [markdown]\n{comments}\n\n# %% workload\n{MATMUL}")
    assert title_of(document) == title


def test_sizes_to_begin_with_are_those_of_an_image() -> None:
    assert [example_size(name) for name in ("chans", "channels", "n_ch", "rows", "K")] == [3, 3, 3, 256, 256]
