# %% [markdown]
# # A GEMM with ReLU where one buffer serves the matrix and the vector unit

# %% machine
import tilewright

machine = tilewright.machine("matrix-vector-npu")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def gemm_vector(
    A: T.Buffer((512, 128), "float16"),
    B: T.Buffer((128, 128), "float16"),
    D: T.Buffer((512, 128), "float32"),
):
    C = T.sblock_alloc_buffer((512, 128))
    for i, j, k in T.grid(512, 128, 128):
        with T.sblock("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + T.Cast("float32", A[vi, vk]) * T.Cast("float32", B[vk, vj])
    for i, j in T.grid(512, 128):
        with T.sblock("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = T.max(C[vi, vj], T.float32(0))


# %% schedule
sch = tilewright.Schedule(gemm_vector)
C = sch.get_block("C")
D = sch.get_block("D")
B_in = sch.cache_read(C, 1, "local")
A_in = sch.cache_read(C, 0, "local")
D_out = sch.cache_write(D, 0, "local")
sch.set_scope(C, 0, "local")
i, j = sch.get_loops(D)
io, ii = sch.split(i, factors=[None, 64], names=["io", "ii"])
sch.compute_at(C, io)
sch.compute_at(A_in, io)
sch.double_buffer(A_in)
sch.double_buffer(C)
sch.reverse_compute_at(D_out, io)
sch.double_buffer(D)
sch.pipeline(io, stages=[0, 1, 2, 2])

# %% report
print(tilewright.report_text(tilewright.simulate(sch, machine)))
