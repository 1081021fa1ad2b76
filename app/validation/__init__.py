"""Held against the clock: studies that predict the rows of a measured table, and how well predictions and measurements agree."""

from .device import Device, device_names, find_device, machine_of
from .page import page, picture, totals_line
from .predict import Outcome, PredictedRow, Totals, Trial, outcome, totals
from .score import AblationScore
from .study import Ablation, Experiment, Study, Variant, load_study, not_predicted, study_names

__all__ = [
    "Ablation",
    "AblationScore",
    "Device",
    "Experiment",
    "Outcome",
    "PredictedRow",
    "Study",
    "Totals",
    "Trial",
    "Variant",
    "device_names",
    "find_device",
    "load_study",
    "machine_of",
    "not_predicted",
    "outcome",
    "page",
    "picture",
    "study_names",
    "totals",
    "totals_line",
]
