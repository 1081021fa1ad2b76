"""Names of TVMScript's functions, grouped by signature."""

from collections.abc import Mapping

# fmt: off
FLOAT_UNARY = (
    "exp", "exp2", "exp10", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "sigmoid", "erf",
    "sin", "cos", "tan", "sinh", "cosh", "tanh", "asin", "acos", "atan", "asinh", "acosh", "atanh",
)
ROUNDING = ("floor", "ceil", "trunc", "round", "nearbyint")
FLOAT_BINARY = ("pow", "atan2", "fmod", "copysign", "hypot", "nextafter", "ldexp")
DTYPES = (
    "float16", "float32", "float64", "bfloat16",
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool",
    "int4", "uint4", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float4_e2m1fn",
    "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e8m0fnu", "float6_e2m3fn", "float6_e3m2fn",
)
# fmt: on
UNNAMED_LANES = ("bool", "bfloat16")
NAMED_LANES = ("4", "8", "16", "32", "64")
"""Lanes of vector types that TVM 0.27 reads (`T.int8x4`), and elements that it does not read as vectors; it prints other types as well."""
DTYPE_FIRST = (
    "call_extern",
    "call_pure_extern",
    "call_llvm_intrin",
    "call_llvm_pure_intrin",
    "reinterpret",
    "type_annotation",
    "vectorlow",
    "vectorhigh",
    "vectorcombine",
)  # fmt: skip
"""Calls whose first argument in text is their own dtype."""
DTYPE_LAST = ("tvm_struct_get",)
"""Calls whose last argument in text is their own dtype."""
OF_SECOND = ("tvm_warp_shuffle", "tvm_warp_shuffle_up", "tvm_warp_shuffle_down", "tvm_warp_shuffle_xor")
"""Calls with the dtype of their second argument."""
OPAQUE = {
    "assume": "bool",
    "tvm_storage_sync": "int32",
    "tvm_call_packed": "int32",
    "tvm_call_cpacked": "int32",
    "call_packed": "int32",
    "call_cpacked": "int32",
    "tvm_thread_allreduce": "handle",
    "tvm_load_matrix_sync": "handle",
    "tvm_store_matrix_sync": "handle",
    "tvm_mma_sync": "handle",
    "tvm_fill_fragment": "handle",
    "tvm_access_ptr": "handle",
    "address_of": "handle",
    "tvm_stack_make_shape": "handle",
    "tvm_stack_make_array": "handle",
    "tvm_tuple": "handle",
    "undef": "int32",
    "q_multiply_shift": "int32",
    "q_multiply_shift_per_axis": "int32",
    "tvm_warp_activemask": "uint32",
    "tvm_stack_alloca": "handle",
    "tvm_struct_set": "int32",
    "lookup_param": "handle",
    "handle_add_byte_offset": "handle",
    "anylist_getitem": "handle",
    "isnullptr": "bool",
    **dict.fromkeys(("mma_fill", "mma_store", "tvm_mfma", "tvm_mfma_store", "ptx_cp_async", "tvm_bmma_sync"), "handle"),
}
"""Low-level intrinsics that are parsed and printed without semantics here, with their result dtypes."""

_TILE: Mapping[str, int | bool | None] = {
    "d": None, "index": None, "ptr": None, "stride": None, "col": 8, "row": 8, "transpose_matrix": False,
}  # fmt: skip
TARGETS: Mapping[str, Mapping[str, int | bool | None]] = {
    "T.metal.make_filled_simdgroup_matrix": {"d": None, "index": None, "value": None, "col": 8, "row": 8},
    "T.metal.simdgroup_load": _TILE,
    "T.metal.simdgroup_store": _TILE,
    "T.metal.simdgroup_multiply_accumulate": dict.fromkeys(
        ("d", "index_d", "a", "index_a", "b", "index_b", "c", "index_c")
    ),
}
"""Instructions of targets whose arguments are given by name, with their defaults; None for arguments that must be given."""

DECLARATIONS = {
    "T.match_buffer": "global",
    "T.sblock_alloc_buffer": "global",
    "T.alloc_buffer": "global",
    "T.allocate": "global",
    "T.decl_buffer": "global",
    "T.buffer_decl": "global",
    "T.alloc_shared": "shared",
    "T.alloc_local": "local",
}
"""Functions that declare a buffer, with their default scope."""
