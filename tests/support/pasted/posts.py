"""Code of public forum posts, without the prose, otherwise unchanged. The posts' pages lost the indentation."""

# ruff: noqa: E501

from support.programs.sources import FUSED_ROUND_TRIP_CLASSIC, HEADER_CLASSIC

EARLY_MATMUL_POST = '''\
@tvm.script.tir
def matmul(x: ty.handle, y: ty.handle, z: ty.handle) -> None:
X = tir.match_buffer(x, [128, 128], "float32")
Y = tir.match_buffer(y, [128, 128], "float32")
Z = tir.match_buffer(z, [128, 128], "float32")
# ⬇️ name of the block is "Z"
with tir.block([128, 128, tir.reduce_axis(0, 128)], "Z") as [i, j, k]:
with tir.init():
Z[i, j] = tir.float32(0)
Z[i, j] = Z[i, j] + (X[i, k] * Y[k, j])
"""Print TensorIR in python syntax"""
print(tvm.script.asscript(matmul))
"""
Create a schedule
Scehdule is TensorIR => TensorIR
so we can print the latest TensorIR at any step of scheduling
"""
sch = tvm.tir.create_schedule(matmul)
ax0, ax1 = sch.split(...)
"""Print TensorIR at any step"""
print(tvm.script.asscript(sch.func))
sch.fuse(...)
print(tvm.script.asscript(sch.func))
"""
We can print the loops and blocks too into syntax like:
for i in range(0, 100)
"""
print(ax0)
'''

SPLIT_NAMES_POST = 'a, b, c, d = s.split(axes, factors=[None, 2, 4, 8], names=["a", "b", "c", "d"])\n'

SPLIT_EINSUM_POST = """\
i0, _, _, _ = s.split("i => i0, i1, i2, i3", factors=[None, 2, 4, 8])
# or allow retrieve by name
i0 = s.get_axis(name="i0")
"""

RELAX_POST = """\
import tvm
from tvm import relax
from tvm import tir
from tvm.relax.frontend import nn
from tvm.relax.transform import LegalizeOps, AnnotateTIROpPattern
import numpy as np
from tvm.relax.expr_functor import PyExprMutator
class NNModule(nn.Module):
def __init__(self):
super().__init__()
self.fc1 = nn.Linear(48, 64)
self.relu1 = nn.ReLU()
def forward(self, x):
x = self.fc1(x)
x = self.relu1(x)
return x
mod, param_spec = NNModule().export_tvm(
spec={"forward": {"x": nn.spec.Tensor((1, 48), "float32")}}
)
pipeline = tvm.transform.Sequential([
LegalizeOps(),
AnnotateTIROpPattern(),
relax.transform.FuseOps(fuse_opt_level=4),
relax.transform.FuseTIR(),
])
mod_lowered = pipeline(mod)
"""

RELAX_SCHEDULE_POST = """\
sch = tvm.tir.Schedule(mod_lowered)
mod_lowered.show()
sch.work_on("fused_matmul_add_relu")
block_add = sch.get_block("T_add")
sch.compute_inline(block_add)
# move vector calculation after matrix
matmul_block = sch.get_block("matmul")
compute_block = sch.get_block("compute")
# tile
i0, i1, k = sch.get_loops(matmul_block)
i1_outer, i1_inner = sch.split(i1, factors=[None, 16])
k_outer, k_inner = sch.split(k, factors=[None, 16])
sch.reorder(i0, i1_outer, k_outer, k_inner, i1_inner)
# tile
i0_c, i1_c = sch.get_loops(compute_block)
i1_outer_c, i1_inner_c = sch.split(i1_c, factors=[None, 16])
sch.reverse_compute_at(compute_block, i1_outer)
sch.mod.show()
# add local/shared buffer
x_shared = sch.cache_read(matmul_block, 0, "shared") # x buffer
w_shared = sch.cache_read(matmul_block, 1, "shared") # weight buffer
matmul_local = sch.cache_write(matmul_block, 0, "local")
# 3.
compute_block = sch.get_block("compute")
# sch.cache_read(compute_block, 0, "local", [matmul_local])
bias_local = sch.cache_read(compute_block, 1, "local") # bias
result_local = sch.cache_write(compute_block, 0, "local")
# 4.
i0, i1_0, k_0, k_1, i1_1 = sch.get_loops(matmul_block)
sch.compute_at(x_shared, i1_0)
sch.compute_at(w_shared, i1_0)
sch.compute_at(bias_local, i1_0)
sch.mod.show()
"""

# The module that sources.py has indented again, as printed in the post.
RELAX_SCHEDULED_POST = "".join(
    f"{line.strip()}\n" for line in FUSED_ROUND_TRIP_CLASSIC.removeprefix(HEADER_CLASSIC).splitlines()
)

RELAX_LOWERED = """\
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def fused_matmul_add_relu(x: T.Buffer((T.int64(1), T.int64(48)), "float32"), permute_dims: T.Buffer((T.int64(48), T.int64(64)), "float32"), fc1_bias: T.Buffer((T.int64(64),), "float32"), compute_intermediate: T.Buffer((T.int64(1), T.int64(64)), "float32")):
        T.func_attr({"tir.noalias": True})
        # with T.block("root"):
        matmul_intermediate = T.alloc_buffer((T.int64(1), T.int64(64)))
        T_add_intermediate = T.alloc_buffer((T.int64(1), T.int64(64)))
        for i0, i1, k in T.grid(T.int64(1), T.int64(64), T.int64(48)):
            with T.block("matmul"):
                v_i0, v_i1, v_k = T.axis.remap("SSR", [i0, i1, k])
                T.reads(x[v_i0, v_k], permute_dims[v_k, v_i1])
                T.writes(matmul_intermediate[v_i0, v_i1])
                with T.init():
                    matmul_intermediate[v_i0, v_i1] = T.float32(0.0)
                matmul_intermediate[v_i0, v_i1] = matmul_intermediate[v_i0, v_i1] + x[v_i0, v_k] * permute_dims[v_k, v_i1]
        for ax0, ax1 in T.grid(T.int64(1), T.int64(64)):
            with T.block("T_add"):
                v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
                T.reads(matmul_intermediate[v_ax0, v_ax1], fc1_bias[v_ax1])
                T.writes(T_add_intermediate[v_ax0, v_ax1])
                T_add_intermediate[v_ax0, v_ax1] = matmul_intermediate[v_ax0, v_ax1] + fc1_bias[v_ax1]
        for i0, i1 in T.grid(T.int64(1), T.int64(64)):
            with T.block("compute"):
                v_i0, v_i1 = T.axis.remap("SS", [i0, i1])
                T.reads(T_add_intermediate[v_i0, v_i1])
                T.writes(compute_intermediate[v_i0, v_i1])
                compute_intermediate[v_i0, v_i1] = T.max(T_add_intermediate[v_i0, v_i1], T.float32(0.0))

    @T.prim_func(private=True)
    def transpose(fc1_weight: T.Buffer((T.int64(64), T.int64(48)), "float32"), T_transpose: T.Buffer((T.int64(48), T.int64(64)), "float32")):
        T.func_attr({"op_pattern": 2, "tir.noalias": True})
        # with T.block("root"):
        for ax0, ax1 in T.grid(T.int64(48), T.int64(64)):
            with T.block("T_transpose"):
                v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
                T.reads(fc1_weight[v_ax1, v_ax0])
                T.writes(T_transpose[v_ax0, v_ax1])
                T_transpose[v_ax0, v_ax1] = fc1_weight[v_ax1, v_ax0]

    @R.function
    def forward(x: R.Tensor((1, 48), dtype="float32"), fc1_weight: R.Tensor((64, 48), dtype="float32")) -> R.Tensor((1, 64), dtype="float32"):
        R.func_attr({"num_input": 1})
        cls = Module
        with R.dataflow():
            permute_dims = R.call_tir(cls.transpose, (fc1_weight,), out_sinfo=R.Tensor((48, 64), dtype="float32"))
            R.output(permute_dims)
        return permute_dims
"""
"""The result of RELAX_POST's pipeline, which the post schedules."""

SEPARATED_POST = """\
import tvm
from tvm import te, tir
from tvm.script import tir as T

@T.prim_func
def before_vectorize(a: T.handle, b: T.handle) -> None:
    A = T.match_buffer(a, (128, 32))
    B = T.match_buffer(b, (128, 32))
    C = T.alloc_buffer(shape=(128, 32))
    for i, j in T.grid(128, 32):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] * 2.0
    for i, j in T.grid(128, 32):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = C[vi, vj] * 2.0

sch = tir.Schedule(before_vectorize)
print(tvm.lower(sch.mod))
sch.transform_layout("C", "C", lambda i, j: [i%2, te.AXIS_SEPARATOR, i//2, j])
print(tvm.lower(sch.mod))
"""
"""*Non contiguous memory*, an answer: the layout that keeps two blocks apart."""
