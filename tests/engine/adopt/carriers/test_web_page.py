"""Saved web pages: code and prose of the posts, with the lines of the page."""

from __future__ import annotations

from html import escape

import pytest
from support.pasted.carriers import SCHEDULE, TWICE

from tilewright.engine.adopt import Piece, programs_of, read_program, unwrapped
from tilewright.engine.ir import PrimFunc

SPANS = escape(TWICE).replace("def", '<span class="pl-k">def</span>').replace("@T", '<span class="pl-en">@T</span>')
GITHUB = f"""\
<!DOCTYPE html>
<html lang="en" data-color-mode="auto">
<head><meta charset="utf-8"><title>[Bug] split is slow · Issue #1 · apache/tvm · GitHub</title>
<script type="application/json">{{"code": "def not_read(): pass"}}</script></head>
<body>
<nav><ul><li>Pull requests</li></ul></nav>
<main><div class="js-comment"><div class="markdown-body"><p dir="auto">The program &quot;twice&quot; is slow:<br>see <code>split</code>.</p>
<div class="highlight highlight-source-python" dir="auto"><pre>{SPANS}</pre></div>
<ul><li>It prints:</li></ul>
<pre class="notranslate"><code class="notranslate">InternalError: Check failed: (extent &lt; 8)
</code></pre>
</div></div></main>
<footer>© 2026</footer>
</body></html>
"""
DISCOURSE = f"""\
<html><head><title>How to split? - Apache TVM Discuss</title></head><body>
<div class="topic-list">Suggested topics</div>
<div class="cooked"><p>How do I split a loop here?</p>
<pre><code class="lang-auto">{escape(TWICE)}</code></pre></div>
<div class="cooked"><p>Like this:</p><pre class="codeblock-buttons"><code class="hljs language-python">{escape(SCHEDULE)}</code></pre></div>
</body></html>
"""


def piece_of(text: str) -> Piece:
    found = unwrapped(text)
    assert found is not None
    (piece,) = found.pieces
    return piece


def test_code_of_a_github_issue_is_read_with_its_prose() -> None:
    piece = piece_of(GITHUB)
    (program,) = programs_of(piece.parts).programs
    assert isinstance(read_program(program).program, PrimFunc)
    prose = "\n".join(line for part in piece.parts if part.kind == "prose" for line in part.lines)
    assert (
        prose.startswith("# [Bug] split is slow")
        and 'The program "twice" is slow:\nsee `split`.' in prose
        and "- It prints:" in prose
    )
    assert not any(word in piece.text for word in ("Pull requests", "not_read", "2026"))
    (output,) = [part for part in piece.parts if part.kind == "output"]
    assert output.lines[0] == "InternalError: Check failed: (extent < 8)"


def test_lines_are_those_of_the_page() -> None:
    lines = GITHUB.split("\n")
    piece = piece_of(GITHUB)
    for part in piece.parts:
        for number, line in enumerate(part.lines, part.first):
            written = lines[piece.origin(number).line - 1]
            word = line.split()[0].strip("#-`") if line.strip("#-` ") else ""
            assert not word or "T" in word or word in written, (line, written)


def test_posts_of_a_forum_are_one_text() -> None:
    piece = piece_of(DISCOURSE)
    (program,) = programs_of(piece.parts).programs
    assert len(read_program(program).schedule.trace.steps) == 3
    assert "Suggested" not in piece.text and "How do I split" in piece.text


def test_numbers_beside_code_are_no_code() -> None:
    numbers = "\n".join(str(n) for n in range(1, 7))
    page = f'<table><tr><td class="gutter"><pre>{numbers}</pre></td><td class="code"><pre>{escape(TWICE)}</pre></td></tr></table>'
    piece = piece_of(f"<html><body><p>A program.</p>{page}</body></html>")
    assert [part.kind for part in piece.parts] == ["prose", "code"]


def test_breaks_end_lines_of_code() -> None:
    broken = escape(TWICE).rstrip("\n").replace("\n", "<br>").replace(" ", "&nbsp;")
    piece = piece_of(f"<html><body><pre>{broken}</pre></body></html>")
    (program,) = programs_of(piece.parts).programs
    assert program.name == "twice"


def test_other_languages_are_no_code() -> None:
    page = f'<html><body><pre><code class="language-cpp">int x = f(1);</code></pre><pre>{escape(TWICE)}</pre></body></html>'
    assert [part.kind for part in piece_of(page).parts] == ["output", "code"]


@pytest.mark.parametrize("tail", ["", "</pre>", "<", "<pre", "</div></div></div>", "&#xFFFFFFFF;", "<![CDATA[", "<!--"])
def test_a_cut_page_is_read_as_far_as_it_goes(tail: str) -> None:
    assert "def twice" in piece_of(f"<html><body><div><pre>{escape(TWICE)}" + tail).code
