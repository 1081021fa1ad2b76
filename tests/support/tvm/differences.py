"""Intended differences of random calls from TVM: ours by code, TVM's by words of its message. docs/differences.md gives the reasons."""

from __future__ import annotations

COPIES = {"in-init", "outside-buffer"}
MAPPED = COPIES | {"not-bijective", "order-dependent", "reads-own-output", "region-not-covered"}

OF_ANY_CALL = {"stale-pipeline", "order-dependent", "reduction-in-parallel"}
"""Results of a call that are illegal in Tilewright: a pipeline that cannot be lowered, concurrent iterations that share a sum."""

WE_REFUSE = {
    "cache_read": COPIES,
    "cache_write": COPIES,
    "reindex": MAPPED | {"opaque-access"},
    "reindex_cache_read": MAPPED,
    "reindex_cache_write": MAPPED,
    "annotate": {"annotation-exists"},
    "annotate_buffer_access": {"region-too-small"},
    "blockize": {"order-dependent", "opaque-iterator", "opaque-access", "not-neighbours", "not-divisible", "predicate-on-reduction"},
    "compute_at": {"no-consumer", "not-ready", "order-dependent"},
    "reverse_compute_at": {
        "consumer-before", "partial-sum", "region-not-solvable", "not-ready", "reduction-repeated"
    },
    "reverse_compute_inline": {"not-the-only-consumer"},
    "merge": {"order-dependent"},
    "reorder": {"order-dependent"},  # an argmax whose ties distinguish its terms
    "rfactor": {"order-dependent"},
    "fuse_reduction_epilogue": {"not-an-epilogue", "not-the-only-consumer", "indices-differ", "unknown-reducer"},
    "pad_einsum": {"not-an-einsum", "not-padded-with-zeros", "partial-domain"},
    "rolling_buffer": {"order-dependent", "not-final", "region-not-covered"},
    "transform_layout": {"not-bijective"},
    "transform_block_layout": {"order-dependent"},
    "unsafe_hide_buffer_access": {"hidden-dependence"},
}  # fmt: skip
WE_ACCEPT = {
    "compute_at": ("pattern match failed",),
    "reverse_compute_at": ("pattern match failed",),
    "transform_layout": ("introduce padding", "source->scale"),
    "bind": ("",),
    "rfactor": ("",),
    "decompose_padding": ("",),
    "fuse_reduction_epilogue": ("",),
    "blockize": ("",),
    "transform_block_layout": ("",),
    "parallel": ("",),
    "vectorize": ("",),
}

TRUSTS_ITERATORS = {"order-dependent", "not-in-blocks", "opaque-access", "opaque-iterator"}
WILD_REFUSED = {
    "reindex": MAPPED | {"opaque-access", "partial-domain"},
    "reindex_cache_read": MAPPED,
    "reindex_cache_write": MAPPED,
    "annotate": {"annotation-exists"},
    "blockize": {"order-dependent", "opaque-iterator", "opaque-access", "not-neighbours", "not-divisible", "predicate-on-reduction"},
    "bind": TRUSTS_ITERATORS,
    "cache_inplace": COPIES | {"region-not-covered", "opaque-access", "order-dependent"},
    "cache_read": COPIES | {"reads-own-output", "region-not-covered", "several-writers"},
    "cache_write": COPIES | {"order-dependent", "reads-own-output", "region-not-covered", "opaque-access"},
    "compute_at": TRUSTS_ITERATORS | {"no-consumer", "not-final", "not-ready", "partial-domain", "region-not-covered"},
    "compute_inline": TRUSTS_ITERATORS | {"not-final", "region-not-covered", "write-after-read"},
    "decompose_reduction": TRUSTS_ITERATORS,
    "merge": {"order-dependent"},
    "parallel": TRUSTS_ITERATORS,
    "reorder": TRUSTS_ITERATORS,
    "reverse_compute_at": TRUSTS_ITERATORS
    | {
        "consumer-before", "loop-may-not-run", "not-final", "not-ready", "partial-domain", "partial-sum", "reduction-repeated",
        "region-not-covered", "region-not-solvable", "write-after-read",
    },
    "reverse_compute_inline": TRUSTS_ITERATORS | {"not-the-only-consumer", "partial-domain", "region-not-covered"},
    "split": {"opaque-access"},
    "unsafe_hide_buffer_access": {"hidden-dependence"},
    "vectorize": TRUSTS_ITERATORS,
    "write_at": {"reads-own-output"},
}  # fmt: skip
WHOLE_SCOPE = ("is not a stage pipeline", "region cover is not complete", "compact dataflow", "pattern match failed")
WILD_ACCEPTED = {
    "pad_einsum": ("",),
    "bind": ("",),
    "blockize": ("",),
    "cache_read": WHOLE_SCOPE,
    "cache_write": WHOLE_SCOPE,
    "compute_at": WHOLE_SCOPE,
    "compute_inline": WHOLE_SCOPE,
    "decompose_reduction": WHOLE_SCOPE,
    "fuse": ("Divide by zero",),
    "parallel": ("",),
    "read_at": ("key is not in Map",),  # TVM fails under nested blocks
    "reorder": ("affine binding",),
    "reverse_compute_at": WHOLE_SCOPE,
    "reverse_compute_inline": WHOLE_SCOPE,
    "split": ("Divide by zero",),
    "transform_layout": ("introduce padding", "source->scale"),
    "vectorize": ("",),
}
