import tilelang
import tilelang.language as T
from tilelang.carver.arch import driver


@tilelang.jit
def sparse(A, E, B):
    A: T.Tensor((16, 16), T.float16)
    E: T.Tensor((16, 4), T.uint8)
    B: T.Tensor((32, 16), T.float16)
    C = T.empty((16, 16), T.float32)
    with T.Kernel(driver.get_num_sms(), threads=32):
        a = T.alloc_shared((16, 16), T.float16)
        e = T.alloc_shared((16, 4), T.uint8)
        b = T.alloc_shared((32, 16), T.float16)
        c = T.alloc_fragment((16, 16), T.float32)
        T.copy(A, a)
        T.copy(E, e)
        T.copy(B, b)
        T.clear(c)
        T.gemm_sp(a, e, b, c, transpose_B=False)
        T.copy(c, C)
    return C


@tilelang.jit
def retyped(A):
    A: T.Tensor((64,), T.float32)
    B = T.empty((64,), T.uint32)
    with T.Kernel(1, threads=64):
        part = T.alloc_shared((64,), T.float32)
        T.copy(A, part)
        bits = T.view(part, (64,), T.uint32)
        T.copy(bits, B)
    return B


@tilelang.jit
def rounded(A):
    extents = [8]
    A: T.Tensor([*extents, 64], T.float32)
    B = T.empty([*extents, 64], T.float32)
    T.dump_tensor(A, 111, 512, (8, 64))
    with T.Kernel(1, threads=64) as bx:
        T.printf("block %d\n", bx)
        full = T.alloc_barrier([64, 64] * 2)
        part = T.alloc_shared([*extents, 64], T.tfloat32)
        T.copy(A, part)
        T.barrier_arrive(full[3])
        T.copy(part, B)
    return B
