import tilelang
import tilelang.language as T


def nibble(packed, position):
    assert position is not None
    bits = (packed >> (position.astype("uint8") * T.cast(4, "uint8"))) & T.cast(15, "uint8")
    return T.cast(bits, "float16") - T.cast(8, "float16")


@tilelang.jit
def product(A, B, S, group=16, block_M=16, block_N=16, block_K=32):
    M, N, K = T.const("M, N, K")
    A: T.Tensor((M, K), T.float16)
    B: T.Tensor((N, K // 2), T.uint8)
    S: T.Tensor((N, K // group), T.float16)
    C = T.empty((M, N), T.float32)
    with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=64) as (bx, by):
        A_shared = T.alloc_shared((block_M, block_K), T.float16)
        B_shared = T.alloc_shared((block_N, block_K // 2), T.uint8)
        B_local = T.alloc_fragment((block_N, block_K), T.float16)
        C_local = T.alloc_fragment((block_M, block_N), T.float32)
        T.clear(C_local)
        for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=2):
            T.copy(A[by * block_M, k * block_K], A_shared)
            T.copy(B[bx * block_N, k * block_K // 2], B_shared)
            for i, j in T.Parallel(block_N, block_K):
                B_local[i, j] = nibble(B_shared[i, j // 2], j % 2) * S[bx * block_N + i, (k * block_K + j) // group]
            T.gemm(A_shared, B_local, C_local, transpose_B=True)
        T.copy(C_local, C[by * block_M, bx * block_N])
    return C
