"""docs/differences.md explains each refusal that TVM does not share."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.tvm.differences import OF_ANY_CALL, WE_REFUSE, WILD_REFUSED

ROWS = [
    line.split("|")[1:]
    for line in (Path(__file__).parents[1] / "docs" / "differences.md").read_text("utf8").splitlines()
    if line.startswith("|")
]
CODES = sorted(
    {code for table in (WE_REFUSE, WILD_REFUSED) for codes in table.values() for code in codes} | OF_ANY_CALL
)


@pytest.mark.parametrize("code", CODES)
def test_every_code_unique_to_tilewright_has_a_reason(code):
    explained = [row for row in ROWS if re.search(rf"`{code}`", row[2])]
    assert explained and all(row[3].strip() for row in explained)
