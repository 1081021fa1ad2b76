"""Calibration of a machine file for this computer: microbenchmarks of one core, their record, and the figures that follow from them."""

from .machine import calibrated_machine, machine_text
from .quantities import QUANTITIES, Quantity, quick_quantities
from .record import Calibration, Measured, calibrate, read_calibration

__all__ = [
    "QUANTITIES",
    "Calibration",
    "Measured",
    "Quantity",
    "calibrate",
    "calibrated_machine",
    "machine_text",
    "quick_quantities",
    "read_calibration",
]
