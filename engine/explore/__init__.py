"""Design space exploration: a space of schedules, the cost of its candidates on a machine, and the best of those evaluated."""

from ..adopt import Hole, HoleError
from .derive.derived_space import DerivedSpace, derive_space, deriving_space
from .derive.groups import SketchChoice
from .derive.product import Product, product_of
from .derive.program_bound import ProgramBound, program_bound
from .derive.rule import ScheduleRule
from .derive.table import SCHEDULE_RULES
from .search.loop import ExploreError, explore, offers_of, verdict_of
from .search.pareto import Front, dominates
from .space.model import Point, Space, SpaceError, space_of
from .space.tiling_target import TilingTargetError
from .trials.evaluator import EvaluationRequest, Evaluator, Limits
from .trials.outcome import CYCLES, ENERGY, PEAK, TRAFFIC, UNITS, Figures, ObjectiveError, Outcome, Status
from .trials.study import Method, Progress, Settings, Study, StudyCandidate, Trial, Verifier
from .trials.study_store import StoreError
from .workers.pool import InProcess, Workers, WorkersError

__all__ = [
    "CYCLES",
    "ENERGY",
    "PEAK",
    "SCHEDULE_RULES",
    "TRAFFIC",
    "UNITS",
    "DerivedSpace",
    "EvaluationRequest",
    "Evaluator",
    "ExploreError",
    "Figures",
    "Front",
    "Hole",
    "HoleError",
    "InProcess",
    "Limits",
    "Method",
    "ObjectiveError",
    "Outcome",
    "Point",
    "Product",
    "ProgramBound",
    "Progress",
    "ScheduleRule",
    "Settings",
    "SketchChoice",
    "Space",
    "SpaceError",
    "Status",
    "StoreError",
    "Study",
    "StudyCandidate",
    "TilingTargetError",
    "Trial",
    "Verifier",
    "Workers",
    "WorkersError",
    "derive_space",
    "deriving_space",
    "dominates",
    "explore",
    "offers_of",
    "product_of",
    "program_bound",
    "space_of",
    "verdict_of",
]
