"""Search over schedules with holes: a space, what each of its candidates costs on a machine, and the best of those that were tried."""

from ..adopt import Hole, HoleError
from .anchor import AnchorError
from .auto import Auto, auto_space
from .kept import StoreError
from .outcome import CYCLES, ENERGY, PEAK, TRAFFIC, UNITS, Figures, ObjectiveError, Outcome, Status
from .pareto import Front, dominates
from .search import ExploreError, explore, offers_of, verdict_of
from .space import Point, Space, SpaceError, space_of
from .study import Checking, Method, Offer, Progress, Settings, Study, Trial
from .trials import Bench, Limits, Question
from .workers import InProcess, Workers, WorkersError

__all__ = [
    "CYCLES",
    "ENERGY",
    "PEAK",
    "TRAFFIC",
    "UNITS",
    "AnchorError",
    "Auto",
    "Bench",
    "Checking",
    "ExploreError",
    "Figures",
    "Front",
    "Hole",
    "HoleError",
    "InProcess",
    "Limits",
    "Method",
    "ObjectiveError",
    "Offer",
    "Outcome",
    "Point",
    "Progress",
    "Question",
    "Settings",
    "Space",
    "SpaceError",
    "Status",
    "StoreError",
    "Study",
    "Trial",
    "Workers",
    "WorkersError",
    "auto_space",
    "dominates",
    "explore",
    "offers_of",
    "space_of",
    "verdict_of",
]
