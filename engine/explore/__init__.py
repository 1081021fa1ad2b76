"""Design space exploration: a space of schedules, the cost of its candidates on a machine, and the best of those evaluated."""

from ..adopt import Hole, HoleError
from .bounds.product import ProductIterators, product_of
from .bounds.program_bound import ProgramBound, program_bound
from .database.database import Database, DatabaseError
from .database.record import TuningRecord
from .database.warm_start import SpaceOrigin, WarmStart, WarmStartUse
from .database.workload import workload_of
from .derive.derived_space import DerivedSpace, derive_space, deriving_space
from .derive.groups import SketchChoice
from .derive.table import SCHEDULE_RULES, ScheduleRule
from .search.derived_start import DerivedStart, deriving_starts, search_from, start_of_search
from .search.loop import ExploreError, explore, offers_of, verdict_of
from .search.pareto import Front, dominates
from .space.model import Point, Space, SpaceError, space_of, with_kernel
from .space.pins import Pins, is_pin, pinned, pins_of
from .space.tiling_target import TilingTargetError
from .trials.decisions import DecisionWorth, worth_of_decisions
from .trials.evaluator import EvaluationLimits, EvaluationRequest, Evaluator
from .trials.measured import MeasuredTrials, measured_trials
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
    "Database",
    "DatabaseError",
    "DecisionWorth",
    "DerivedSpace",
    "DerivedStart",
    "EvaluationLimits",
    "EvaluationRequest",
    "Evaluator",
    "ExploreError",
    "Figures",
    "Front",
    "Hole",
    "HoleError",
    "InProcess",
    "MeasuredTrials",
    "Method",
    "ObjectiveError",
    "Outcome",
    "Pins",
    "Point",
    "ProductIterators",
    "ProgramBound",
    "Progress",
    "ScheduleRule",
    "Settings",
    "SketchChoice",
    "Space",
    "SpaceError",
    "SpaceOrigin",
    "Status",
    "StoreError",
    "Study",
    "StudyCandidate",
    "TilingTargetError",
    "Trial",
    "TuningRecord",
    "Verifier",
    "WarmStart",
    "WarmStartUse",
    "Workers",
    "WorkersError",
    "derive_space",
    "deriving_space",
    "deriving_starts",
    "dominates",
    "explore",
    "is_pin",
    "measured_trials",
    "offers_of",
    "pinned",
    "pins_of",
    "product_of",
    "program_bound",
    "search_from",
    "space_of",
    "start_of_search",
    "verdict_of",
    "with_kernel",
    "workload_of",
    "worth_of_decisions",
]
