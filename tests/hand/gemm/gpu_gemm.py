# %% [markdown]
# # A GEMM on tensor cores

# %% machine
import tilewright

machine = tilewright.machine("gpu-sm")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def gpu_gemm(
    A: T.Buffer((256, 256), "float16"),
    B: T.Buffer((256, 256), "float16"),
    C: T.Buffer((256, 256), "float32"),
):
    for i, j, k in T.grid(256, 256, 256):
        with T.sblock("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + T.Cast("float32", A[vi, vk]) * T.Cast("float32", B[vk, vj])


# %% intrinsic: load a
@T.prim_func(s_tir=True)
def load_a_desc(
    A: T.Buffer((16, 16), "float16", scope="shared.dyn", offset_factor=16),
    C: T.Buffer((16, 16), "float16", scope="wmma.matrix_a", offset_factor=16),
):
    with T.sblock("root"):
        T.reads(A[0:16, 0:16])
        T.writes(C[0:16, 0:16])
        for i, j in T.grid(16, 16):
            with T.sblock("load"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vi, vj]


@T.prim_func(s_tir=True)
def load_a_impl(
    A: T.Buffer((16, 16), "float16", strides=("s1", "s0"), scope="shared.dyn", offset_factor=16),
    C: T.Buffer((16, 16), "float16", strides=("d1", "d0"), scope="wmma.matrix_a", offset_factor=16),
):
    with T.sblock("root"):
        T.reads(A[0:16, 0:16])
        T.writes(C[0:16, 0:16])
        T.tvm_load_matrix_sync(
            C.data, 16, 16, 16, C.elem_offset // C.strides[0] // 16 * (C.strides[0] // 16) + C.elem_offset % C.strides[0] // 16,
            T.tvm_access_ptr(T.type_annotation("float16"), A.data, A.elem_offset, A.strides[0] * 16, 1), A.strides[0], "row_major",
        )


tilewright.TensorIntrin.register("wmma_load_16x16x16_f16_a_shared_dyn", load_a_desc, load_a_impl)

# %% intrinsic: load b
@T.prim_func(s_tir=True)
def load_b_desc(
    A: T.Buffer((16, 16), "float16", scope="shared.dyn", offset_factor=16),
    C: T.Buffer((16, 16), "float16", scope="wmma.matrix_b", offset_factor=16),
):
    with T.sblock("root"):
        T.reads(A[0:16, 0:16])
        T.writes(C[0:16, 0:16])
        for i, j in T.grid(16, 16):
            with T.sblock("load"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vi, vj]


@T.prim_func(s_tir=True)
def load_b_impl(
    A: T.Buffer((16, 16), "float16", strides=("s1", "s0"), scope="shared.dyn", offset_factor=16),
    C: T.Buffer((16, 16), "float16", strides=("d1", "d0"), scope="wmma.matrix_b", offset_factor=16),
):
    with T.sblock("root"):
        T.reads(A[0:16, 0:16])
        T.writes(C[0:16, 0:16])
        T.tvm_load_matrix_sync(
            C.data, 16, 16, 16, C.elem_offset // C.strides[0] // 16 * (C.strides[0] // 16) + C.elem_offset % C.strides[0] // 16,
            T.tvm_access_ptr(T.type_annotation("float16"), A.data, A.elem_offset, A.strides[0] * 16, 1), A.strides[0], "row_major",
        )


tilewright.TensorIntrin.register("wmma_load_16x16x16_f16_b_shared_dyn", load_b_desc, load_b_impl)

# %% intrinsic: product
@T.prim_func(s_tir=True)
def sync_desc(
    A: T.Buffer((16, 16), "float16", scope="wmma.matrix_a", offset_factor=16),
    B: T.Buffer((16, 16), "float16", scope="wmma.matrix_b", offset_factor=16),
    C: T.Buffer((16, 16), "float32", scope="wmma.accumulator", offset_factor=16),
):
    with T.sblock("root"):
        T.reads(C[0:16, 0:16], A[0:16, 0:16], B[0:16, 0:16])
        T.writes(C[0:16, 0:16])
        for i, j, k in T.grid(16, 16, 16):
            with T.sblock("sync"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                C[vi, vj] = C[vi, vj] + T.Cast("float32", A[vi, vk]) * T.Cast("float32", B[vk, vj])


@T.prim_func(s_tir=True)
def sync_impl(
    A: T.Buffer((16, 16), "float16", strides=("a1", "a0"), scope="wmma.matrix_a", offset_factor=16),
    B: T.Buffer((16, 16), "float16", strides=("b1", "b0"), scope="wmma.matrix_b", offset_factor=16),
    C: T.Buffer((16, 16), "float32", strides=("c1", "c0"), scope="wmma.accumulator", offset_factor=16),
):
    with T.sblock("root"):
        T.reads(C[0:16, 0:16], A[0:16, 0:16], B[0:16, 0:16])
        T.writes(C[0:16, 0:16])
        T.tvm_mma_sync(
            C.data, C.elem_offset // C.strides[0] // 16 * (C.strides[0] // 16) + C.elem_offset % C.strides[0] // 16,
            A.data, A.elem_offset // A.strides[0] // 16 * (A.strides[0] // 16) + A.elem_offset % A.strides[0] // 16,
            B.data, B.elem_offset // B.strides[0] // 16 * (B.strides[0] // 16) + B.elem_offset % B.strides[0] // 16,
            C.data, C.elem_offset // C.strides[0] // 16 * (C.strides[0] // 16) + C.elem_offset % C.strides[0] // 16,
        )


tilewright.TensorIntrin.register("wmma_sync_16x16x16_f16f16f32", sync_desc, sync_impl)

# %% intrinsic: fill
@T.prim_func(s_tir=True)
def fill_desc(C: T.Buffer((16, 16), "float32", scope="wmma.accumulator", offset_factor=16)):
    with T.sblock("root"):
        T.reads()
        T.writes(C[0:16, 0:16])
        for i, j in T.grid(16, 16):
            with T.sblock("fill"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = T.float32(0)


@T.prim_func(s_tir=True)
def fill_impl(C: T.Buffer((16, 16), "float32", strides=("d1", "d0"), scope="wmma.accumulator", offset_factor=16)):
    with T.sblock("root"):
        T.reads()
        T.writes(C[0:16, 0:16])
        T.tvm_fill_fragment(C.data, 16, 16, 16, C.elem_offset // C.strides[0] // 16 * (C.strides[0] // 16) + C.elem_offset % C.strides[0] // 16, T.float32(0))


tilewright.TensorIntrin.register("wmma_fill_16x16x16_f32", fill_desc, fill_impl)

# %% intrinsic: store
@T.prim_func(s_tir=True)
def store_desc(
    A: T.Buffer((16, 16), "float32", scope="wmma.accumulator", offset_factor=16),
    C: T.Buffer((16, 16), "float32", offset_factor=16),
):
    with T.sblock("root"):
        T.reads(A[0:16, 0:16])
        T.writes(C[0:16, 0:16])
        for i, j in T.grid(16, 16):
            with T.sblock("store"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vi, vj]


@T.prim_func(s_tir=True)
def store_impl(
    A: T.Buffer((16, 16), "float32", strides=("d1", "d0"), scope="wmma.accumulator", offset_factor=16),
    C: T.Buffer((16, 16), "float32", strides=("s1", "s0"), offset_factor=16),
):
    with T.sblock("root"):
        T.reads(A[0:16, 0:16])
        T.writes(C[0:16, 0:16])
        T.tvm_store_matrix_sync(
            A.data, 16, 16, 16, A.elem_offset // A.strides[0] // 16 * (A.strides[0] // 16) + A.elem_offset % A.strides[0] // 16,
            T.tvm_access_ptr(T.type_annotation("float32"), C.data, C.elem_offset, C.strides[0] * 16, 2), C.strides[0], "row_major",
        )


tilewright.TensorIntrin.register("wmma_store_16x16x16_f32_global", store_desc, store_impl)

# %% schedule
sch = tilewright.Schedule(gpu_gemm)
C = sch.get_block("C")
i, j, k = sch.get_loops(C)
io, iw, it, ii = sch.split(i, [None, 2, 2, 16], names=["io", "iw", "it", "ii"])
jo, jw, jt, ji = sch.split(j, [None, 2, 2, 16], names=["jo", "jw", "jt", "ji"])
ko, kt, ki = sch.split(k, [None, 2, 16], names=["ko", "kt", "ki"])
sch.reorder(io, jo, iw, jw, ko, kt, it, jt, ii, ji, ki)
blocks = sch.fuse(io, jo)
sch.bind(blocks, "blockIdx.x")
warp = sch.fuse(iw, jw)
sch.bind(warp, "threadIdx.y")

# %% schedule: operands in shared memory
A_in = sch.cache_read(C, "A", "shared.dyn")
sch.compute_at(A_in, ko)
B_in = sch.cache_read(C, "B", "shared.dyn")
sch.compute_at(B_in, ko)
_, _, _, a, b = sch.get_loops(A_in)
each = sch.fuse(a, b)
s, y, x, v = sch.split(each, [None, 4, 32, 8])
sch.bind(y, "threadIdx.y")
sch.bind(x, "threadIdx.x")
sch.vectorize(v)
sch.storage_align(A_in, 0, 0, 32, 8)
_, _, _, a, b = sch.get_loops(B_in)
each = sch.fuse(a, b)
s, y, x, v = sch.split(each, [None, 4, 32, 8])
sch.bind(y, "threadIdx.y")
sch.bind(x, "threadIdx.x")
sch.vectorize(v)
sch.storage_align(B_in, 0, 0, 32, 8)

# %% schedule: fragments
C_out = sch.cache_write(C, 0, "wmma.accumulator")
sch.reverse_compute_at(C_out, warp)
A_fragment = sch.cache_read(C, 0, "wmma.matrix_a")
sch.compute_at(A_fragment, kt)
B_fragment = sch.cache_read(C, 1, "wmma.matrix_b")
sch.compute_at(B_fragment, kt)
sch.pipeline(ko, stages=[0, 0, 1])

# %% schedule: tensor cores
init = sch.decompose_reduction(C, ko)
_, _, _, _, ii_init, _ = sch.get_loops(init)
sch.tensorize(ii_init, "wmma_fill_16x16x16_f32")
_, _, _, _, a, b = sch.get_loops(A_fragment)
at, ai = sch.split(a, [None, 16])
sch.tensorize(ai, "wmma_load_16x16x16_f16_a_shared_dyn")
_, _, _, _, a, b = sch.get_loops(B_fragment)
bt, bi = sch.split(b, [None, 16])
sch.reorder(bt, a, bi)
sch.tensorize(a, "wmma_load_16x16x16_f16_b_shared_dyn")
sch.tensorize(ii, "wmma_sync_16x16x16_f16f16f32")
_, _, a, b = sch.get_loops(C_out)
at, ai = sch.split(a, [None, 16])
bt, bi = sch.split(b, [None, 16])
sch.reorder(at, bt, ai, bi)
sch.tensorize(ai, "wmma_store_16x16x16_f32_global")
