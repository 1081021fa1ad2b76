"""Program analysis: positions of blocks and loops, producers and consumers, accessed regions, dependences."""

from .boxes import contains_box
from .cover import is_covered, only_guards_domain, provably_runs, runs_at, touched_box, writes_all
from .dependence import (
    DependenceConflict,
    find_carried,
    find_conflicts,
    iterations_apart,
    shared_buffers,
    updates_only_own_element,
)
from .fusions import unfused
from .index import ProgramIndex, fresh_name, unique_block_names
from .inside import keeps_domains, stays_inside
from .instances import Decision, runs_once
from .joins import joined_splits
from .opaque import lowering_refusal, opaque_refusal
from .reducers import Update, find_identities, find_update, is_associative_update
from .regions import Guard, accessed_regions, branches, hull, hull_over, loads_of, realized
from .repeats import is_once, is_update, order_fault, reads_own_results, reduction_loops, starts_with_init, stores_once
from .separation import is_injective, separated_loops, writes_distinct
from .signatures import honest_signatures

__all__ = [
    "Decision",
    "DependenceConflict",
    "Guard",
    "ProgramIndex",
    "Update",
    "accessed_regions",
    "branches",
    "contains_box",
    "find_carried",
    "find_conflicts",
    "find_identities",
    "find_update",
    "fresh_name",
    "honest_signatures",
    "hull",
    "hull_over",
    "is_associative_update",
    "is_covered",
    "is_injective",
    "is_once",
    "is_update",
    "iterations_apart",
    "joined_splits",
    "keeps_domains",
    "loads_of",
    "lowering_refusal",
    "only_guards_domain",
    "opaque_refusal",
    "order_fault",
    "provably_runs",
    "reads_own_results",
    "realized",
    "reduction_loops",
    "runs_at",
    "runs_once",
    "separated_loops",
    "shared_buffers",
    "starts_with_init",
    "stays_inside",
    "stores_once",
    "touched_box",
    "unfused",
    "unique_block_names",
    "updates_only_own_element",
    "writes_all",
    "writes_distinct",
]
