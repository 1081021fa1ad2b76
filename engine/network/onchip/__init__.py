"""Tensors in on-chip memory between kernels: the programs that use them there, their addresses, and the copies that bring them there."""

from .plan import OnChipPlan, PlannedCall, PlannedTensor, Resident, planned_tensors, scopes_of
from .programs import CallVariant, Scopes, Simulations
from .text import plan_json, plan_text
from .timing import on_chip_plan
from .transfers import Transfer

__all__ = [
    "CallVariant",
    "OnChipPlan",
    "PlannedCall",
    "PlannedTensor",
    "Resident",
    "Scopes",
    "Simulations",
    "Transfer",
    "on_chip_plan",
    "plan_json",
    "plan_text",
    "planned_tensors",
    "scopes_of",
]
