"""An editor to be killed: a process that edits a notebook file at full speed and prints its finished and its durable edits.

`python -m support.faults.killed_editor FILE` waits for seeds on its standard input, one a line. For each it forks a child, which opens
the file like a page and edits it until it is killed. Lines on standard output: `pid N`, then from the child `opened DIGEST`,
`sent DIGEST` before each edit and `kept DIGEST` once the page shows it as kept, and `end` after the child's end.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

from support.faults.forked import fork_for_each_line, say
from support.sessions.filed import Desk, filed, send, text_of

from tilewright.app.actions.text_edits import DropDraft
from tilewright.app.document import read_document
from tilewright.app.document.files.history import digest_of
from tilewright.app.storage.save_debounce import Times

FAST = Times(quiet=0.004, longest=0.02, look=0.02, again=0.02)
"""Writes follow edits closely, so that a random time is often during one."""


def name_of(text: str) -> str:
    return digest_of(text).hex()


def edit_until_killed(path: Path, seed: int) -> None:
    rng = random.Random(seed)
    desk = Desk(path.parent, FAST)
    pages = [desk.page(path), desk.page(path)]
    say("opened", name_of(text_of(pages[0])))
    for number in range(10_000):
        page = rng.choice(pages)
        desk.until(lambda page=page: text_of(page) == page.file_sync._file.line.text)
        before = text_of(page)
        way = rng.choices(["edit", "undo", "redo", "typed"], [6, 2, 2, 2])[0]
        if way == "edit":
            word = f"edit {seed} {number} " + "x" * rng.choice([0, 10, 5_000])
            say("sent", name_of(_with_prose(page, word)))
            send(page, "edit_prose", cell=0, text=word)
        elif way in ("undo", "redo"):
            line = page.state.past[-1:] if way == "undo" else page.state.future[:1]
            if not line:
                continue
            say("sent", name_of(line[0].document.text))
            send(page, way)
        else:
            say("sent", name_of(_with_prose(page, "half a wor")))
            send(page, "draft_cell", cell=0, text="half a wor")
            page.dispatch(DropDraft())
        text = text_of(page)
        assert way != "typed" or text == before
        desk.until(lambda page=page: filed(page).save.durable)
        say("kept", name_of(text))


def _with_prose(page: object, word: str) -> str:
    from tilewright.app.document import with_prose

    document = page.state.notebook.document  # pyright: ignore[reportAttributeAccessIssue]
    return with_prose(read_document(document.text), 0, word).text


def main() -> None:
    path = Path(sys.argv[1])
    fork_for_each_line(lambda line: edit_until_killed(path, int(line)))


if __name__ == "__main__":
    main()
