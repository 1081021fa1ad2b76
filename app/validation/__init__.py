"""Held against the clock: studies that predict the rows of a measured table, and how well predictions and measurements agree."""

from .page import page, picture, totals_line
from .predict import Outcome, PredictedRow, Totals, Trial, outcome, totals
from .score import AblationScore
from .study import Ablation, Experiment, Study, Variant, load_study, study_names

__all__ = [
    "Ablation",
    "AblationScore",
    "Experiment",
    "Outcome",
    "PredictedRow",
    "Study",
    "Totals",
    "Trial",
    "Variant",
    "load_study",
    "outcome",
    "page",
    "picture",
    "study_names",
    "totals",
    "totals_line",
]
