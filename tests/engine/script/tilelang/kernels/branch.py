import tilelang
import tilelang.language as T


@tilelang.jit(out_idx=[3])
def sparse(M, N, K, block=32):
    @T.prim_func
    def main(
        A: T.Tensor((M, K), "float16"),
        B: T.Tensor((K, N), "float16"),
        mask: T.Tensor((K // block,), "int32"),
        C: T.Tensor((M, N), "float32"),
    ):
        with T.Kernel(T.ceildiv(M, block), T.ceildiv(N, block), threads=128) as (by, bx):
            A_shared = T.alloc_shared((block, block), "float16")
            B_shared = T.alloc_shared((block, block), "float16")
            C_local = T.alloc_fragment((block, block), "float32")
            T.clear(C_local)
            for k in T.Pipelined(K // block, num_stages=2):
                if mask[k] != 0:
                    T.copy(A[by * block, k * block], A_shared)
                    T.copy(B[k * block, bx * block], B_shared)
                    T.gemm(A_shared, B_shared, C_local)
            T.copy(C_local, C[by * block, bx * block])

    return main


_OPTIONS = {tilelang.PassConfigKey.TL_DISABLE_WARP_SPECIALIZED: True}


@tilelang.jit(out_idx=[3], pass_configs=_OPTIONS)
def either(N, K, first=2, block=32, stages=3):
    @T.prim_func
    def main(
        A: T.Tensor((block, K), "float16"),
        B: T.Tensor((K, N), "float16"),
        D: T.Tensor((K, N), "float16"),
        C: T.Tensor((block, N), "float32"),
    ):
        with T.Kernel(T.ceildiv(N, block), threads=128) as bx:
            a = T.alloc_shared((block, block), "float16")
            b = T.alloc_shared((block, block), "float16")
            c = T.alloc_fragment((block, block), "float32")
            T.clear(c)
            for k in T.Pipelined(K // block, num_stages=stages):
                T.copy(A[0, k * block], a)
                if k < first:
                    T.copy(B[k * block, bx * block], b)
                else:
                    for i, j in T.Parallel(block, block):
                        with T.attr("default", "async_scope", 1):
                            b[i, j] = D[k * block + i, bx * block + j]
                T.gemm(a, b, c)
            T.copy(c, C[0, bx * block])

    return main
