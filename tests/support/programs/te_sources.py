"""TE text of posts. The first five are the code of the forum discussions, without the prose around it."""

MATMUL_VTCM = """\
M = te.var("M", "int32")

K = te.var("K", "int32")

N = te.var("N", "int32")

# Algorithm

k = te.reduce_axis((0, K), "k")

A = te.placeholder((M, K), name="A")

B = te.placeholder((K, N), name="B")

C = te.compute((M, N), lambda m, n: te.sum(A[m, k] * B[k, n], axis=k), name="C")

######### START OF SCHEDULE ###########

s = te.create_schedule(C.op)

##### System ####

##### Read (A,B) External -> Internal

AL = s.cache_read(A, "local.vtcm", [C])

BL = s.cache_read(B, "local.vtcm", [C])

##### Write (C) Internal -> External

CC = s.cache_write(C, "local.vtcm_Block_2")

##### For now, lets set tile_k to be 128

tile_k = 128

tile_m = 64

tile_n = 64

##### Tiling for Reading AL buf , BL buf , and for the kernel CC #####

m_a, n_a = s[AL].op.axis

ma_outer,na_outer,ma_inner,na_inner = s[AL].tile(m_a,n_a,tile_m,tile_k)

m_b, n_b = s[BL].op.axis

mb_outer,nb_outer,mb_inner,nb_inner = s[BL].tile(m_b,n_b,tile_k,tile_n)

mc, nc = s[CC].op.axis

mc_outer,nc_outer,mc_inner,nc_inner = s[CC].tile(mc,nc,tile_m,tile_n)

##### Kernel ####

# We want to load 16 units each iteration

no, ni = s[CC].split(nc_inner, factor=16)

(kaxis,) = s[CC].op.reduce_axis

ko,ki = s[CC].split(kaxis, factor=tile_k)

s[CC].reorder(ko,mc_inner,ki, no, ni)

s[CC].vectorize(ni)

##### Tiling for Writing C to external ######

m, n = s[C].op.axis

m_outer,n_outer,m_inner,n_inner = s[C].tile(m,n,tile_m,tile_n)

###### move Read and Write to the compute Tiling iterator #######

s[AL].compute_at(s[CC],ko)

s[BL].compute_at(s[CC],ko)

s[CC].compute_at(s[C],n_outer)
"""
"""*TIR - Non contiguous memory*: a symbolic matmul, staged in two blocks of on-chip memory."""

BOX_BLUR = """\
import tvm


def print_schedule(sched, arglist):
    print(tvm.lower(sched, arglist, simple_mode=True))


rows = tvm.var("rows")
cols = tvm.var("cols")
chans = tvm.var("chans")

input_vec = tvm.placeholder((rows,cols,chans), dtype="float32", name="input")
clamp = lambda v, v_min, v_max: tvm.max( tvm.min(v, v_max), v_min )
## clamp to edge padding
padded = tvm.compute((rows+2,cols+2,chans)
                     , lambda y, x, c: input_vec[clamp(y-1, 0, rows-1)
                                                 , clamp(x-1, 0, cols-1)
                                                 , c].astype("uint16")
                     , name="padded")



x_blur = tvm.compute((rows+2, cols, chans)
                     , lambda y, x, c: (padded[y,x,c] +
                                        padded[y,x+1,c] +
                                        padded[y,x+2,c]) / 3
                     , name="x_blur")

y_blur = tvm.compute((rows, cols, chans)
                     , lambda y, x, c: (x_blur[y,x,c] +
                                        x_blur[y+1,x,c] +
                                        x_blur[y+2,x,c]) / 3
                     , name="y_blur")

box_blur = tvm.compute((rows,cols,chans)
                       , lambda y, x, c: y_blur[y,x,c].astype("uint8")
                       , name="box_blur")

arglist = [input_vec, box_blur]

schedule = tvm.create_schedule(box_blur.op)
schedule[padded.op].compute_inline()
schedule[y_blur].compute_inline()
schedule[x_blur].compute_at(schedule[box_blur], box_blur.op.axis[1])
print_schedule(schedule, arglist)

x_blur_y_stride = 1
x_blur_c_stride = rows + 2
x_blur_x_stride = x_blur_c_stride * 3

fun = tvm.build(schedule, arglist, "llvm", name="box_blur"
                , binds={x_blur: tvm.decl_buffer(x_blur.shape
                                                 , name="x_blur"
                                                 , scope="local"
                                                 , dtype=x_blur.dtype
                                                 , strides=[x_blur_y_stride,
                                                            x_blur_x_stride,
                                                            x_blur_c_stride])})
"""
"""*How to control data layout of intermediate values*: TVM 0.5, with the build that TVM refused."""

BOX_BLUR_SCHEDULE = BOX_BLUR.partition("x_blur_y_stride")[0]
"""The same without that build."""

TRANSPOSED = """\
import tvm

n = 10
m = 20

A = tvm.placeholder((n, m), name='A')
B = tvm.compute((n, m), lambda i, j: A[i][j], name='B')
C = tvm.compute((n, m), lambda i, j: B[i][j], name='C')

s = tvm.create_schedule([C.op])
print(tvm.lower(s, [A, C], simple_mode=True))

print("======================================\\n")


i, j = s[B].op.axis
s[B].reorder(j, i)     # transpose
BB = s.cache_write(B, 'global')
s[B].compute_inline()

print(tvm.lower(s, [A, C], simple_mode=True))
"""
"""The first answer there: the cache is stored and computed in the other order."""

TRANSPOSED_STORAGE = """\
import tvm

n = 10
m = 20

A = tvm.placeholder((n, m), name='A')
B = tvm.compute((n, m), lambda i, j: A[i][j], name='B')
C = tvm.compute((n, m), lambda i, j: B[i][j], name='C')

s = tvm.create_schedule([C.op])
print(tvm.lower(s, [A, C], simple_mode=True))

print("======================================\\n")


i, j = s[B].op.axis
s[B].reorder(j, i)
BB = s.cache_write(B, 'global')
s[B].compute_inline()

j, i = s[BB].op.axis
s[BB].reorder(i, j)

print(tvm.lower(s, [A, C], simple_mode=True))
"""
"""The second: stored in the other order only."""

STAGED_COPIES = """\
A = te.placeholder((o, n, env.BATCH, env.BLOCK_IN), name="A", dtype=env.inp_dtype)
A_buf = te.compute((o, n, env.BATCH, env.BLOCK_IN), lambda *i: A(*i), "A_buf")
"""
"""*Compute_at vs set_scope*: the lines quoted from VTA's tutorial, which defines their names elsewhere."""

VTA_MATMUL = """\
import tvm
from tvm import te
import vta
env = vta.get_env()
o, n, m = 1, 4, 4
A = te.placeholder((o, n, env.BATCH, env.BLOCK_IN), name="A", dtype=env.inp_dtype)
B = te.placeholder((m, n, env.BLOCK_OUT, env.BLOCK_IN), name="B", dtype=env.wgt_dtype)
A_buf = te.compute((o, n, env.BATCH, env.BLOCK_IN), lambda *i: A(*i), "A_buf")
B_buf = te.compute((m, n, env.BLOCK_OUT, env.BLOCK_IN), lambda *i: B(*i), "B_buf")
ko = te.reduce_axis((0, n), name="ko")
ki = te.reduce_axis((0, env.BLOCK_IN), name="ki")
C_buf = te.compute(
    (o, m, env.BATCH, env.BLOCK_OUT),
    lambda bo, co, bi, ci: te.sum(
        A_buf[bo, ko, bi, ki].astype(env.acc_dtype) * B_buf[co, ko, ci, ki].astype(env.acc_dtype),
        axis=[ko, ki],
    ),
    name="C_buf",
)
C = te.compute((o, m, env.BATCH, env.BLOCK_OUT), lambda *i: C_buf(*i).astype(env.inp_dtype), name="C")
s = te.create_schedule(C.op)
print(tvm.lower(s, [A, B, C], simple_mode=True))
s[A_buf].set_scope(env.inp_scope)
s[B_buf].set_scope(env.wgt_scope)
s[C_buf].set_scope(env.acc_scope)
s[A_buf].compute_at(s[C_buf], ko)
s[B_buf].compute_at(s[C_buf], ko)
s[A_buf].pragma(s[A_buf].op.axis[0], env.dma_copy)
s[B_buf].pragma(s[B_buf].op.axis[0], env.dma_copy)
s[C].pragma(s[C].op.axis[0], env.dma_copy)
s[C_buf].reorder(
    ko, s[C_buf].op.axis[0], s[C_buf].op.axis[1], s[C_buf].op.axis[2], s[C_buf].op.axis[3], ki
)
# s[C_buf].tensorize(s[C_buf].op.axis[2], env.gemm)
print(vta.lower(s, [A, B, C], simple_mode=True))
"""
"""The tutorial with those lines, up to its tensorize."""

GPU_MATMUL = """\
import tvm
from tvm import te
nn = 64
A = te.placeholder((nn, nn), name="A")
B = te.placeholder((nn, nn), name="B")
k = te.reduce_axis((0, nn), name="k")
C = te.compute((nn, nn), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
s = te.create_schedule(C.op)
AA = s.cache_read(A, "shared", [C])
AL = s.cache_read(AA, "local", [C])
BB = s.cache_read(B, "shared", [C])
BL = s.cache_read(BB, "local", [C])
CL = s.cache_write(C, "local")
block_x = te.thread_axis("blockIdx.x")
block_y = te.thread_axis("blockIdx.y")
thread_x = te.thread_axis((0, 8), "threadIdx.x")
thread_y = te.thread_axis((0, 8), "threadIdx.y")
i, j = s[C].op.axis
by, yi = s[C].split(i, factor=32)
bx, xi = s[C].split(j, factor=32)
ty, yi = s[C].split(yi, nparts=8)
tx, xi = s[C].split(xi, nparts=8)
s[C].reorder(by, bx, ty, tx, yi, xi)
s[C].bind(by, block_y)
s[C].bind(bx, block_x)
s[C].bind(ty, thread_y)
s[C].bind(tx, thread_x)
s[CL].compute_at(s[C], tx)
yo, xo = CL.op.axis
(rk,) = CL.op.reduce_axis
ko, ki = s[CL].split(rk, factor=8)
s[CL].reorder(ko, ki, yo, xo)
s[CL].unroll(ki)
s[AA].compute_at(s[CL], ko)
s[BB].compute_at(s[CL], ko)
s[AL].compute_at(s[CL], ki)
s[BL].compute_at(s[CL], ki)
for_ = s[AA].fuse(*s[AA].op.axis)
o, t = s[AA].split(for_, factor=64)
ty2, tx2 = s[AA].split(t, nparts=8)
s[AA].bind(ty2, thread_y)
s[AA].bind(tx2, thread_x)
s[BB].double_buffer()
print(tvm.lower(s, [A, B, C], simple_mode=True))
"""
"""Shared and local caches, bound threads, a cooperative copy."""
