"""`tilewright validate`: tables of times that others measured, beside the predicted ones."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

import msgspec

from .....engine.export.report_text import table
from ....validation import Outcome, load_study, outcome, page, picture, study_names, totals, totals_line
from ...exit_codes import EXIT_OK, REFUSED
from ...output import print_json, print_line, working, written
from ...usage import Parser, takes_json

EXAMPLES = ("", "a100_gemm_steps", "--list", "--page docs/validation.md")

PICTURE = Path("pictures") / "validation.svg"
"""The picture's place beside the page."""


def add_arguments(parser: Parser) -> None:
    parser.add_argument("studies", metavar="STUDY", nargs="*", help="names of studies (default: all)")
    parser.add_argument("--list", action="store_true", help="print the names of the studies")
    parser.add_argument("--page", metavar="FILE", help="write the page as Markdown, and its picture beside it")
    takes_json(parser, "the rows, ablations and experiments")


def run(arguments: Namespace) -> int:
    names = arguments.studies or study_names()
    studies = [load_study(name) for name in names]
    if arguments.list:
        print_line("\n".join(f"{study.name}: {study.title} ({study.device})" for study in studies))
        return EXIT_OK
    found: list[Outcome] = []
    for study in studies:
        with working(arguments, f"predicting {study.name}"):
            found.append(outcome(study))
    if arguments.page:
        target = Path(arguments.page)
        drawing = target.parent / PICTURE
        drawing.parent.mkdir(exist_ok=True)
        text = page(found, PICTURE.as_posix())
        return EXIT_OK if written(arguments.page, text) and written(str(drawing), picture(found)) else REFUSED
    if arguments.json:
        print_json(msgspec.to_builtins(found))
        return EXIT_OK
    print_line("\n\n".join((*map(_text, found), totals_line(totals(found)))))
    return EXIT_OK


def _text(found: Outcome) -> str:
    """The rows, the ablations and the experiments of a study as tables."""
    study, trial = found.study, found.trial
    rows = [["", "measured", "predicted", "factor"]]
    rows += [[r.label, f"{r.measured_us:,.4g}", f"{r.predicted_us:,.4g}", f"{r.ratio:.2f}"] for r in trial.rows]
    parts = [
        f"{study.title}, on {study.device}",
        f"not stated: {'; '.join(study.unknown)}",
        table(rows, right=(1, 2, 3)),
    ]
    if trial.ablations:
        changes = [["time after / before", "measured", "predicted", ""]]
        changes += [
            [
                " ".join((a.name, *a.key)),
                f"{a.measured:.3f}",
                f"{a.predicted:.3f}",
                "" if a.has_sign or not a.is_notable else "other sign",
            ]
            for a in trial.ablations
        ]
        parts.append(table(changes, right=(1, 2)))
    for each in (trial, *found.experiments):
        tau = "" if each.tau is None else f"tau {each.tau:.2f}, "
        parts.append(f"{each.name}: {tau}mean error {each.mean_error:.1%}, largest factor {each.largest.ratio:.2f}")
    return "\n".join(parts)


__all__ = ["EXAMPLES", "add_arguments", "run"]
