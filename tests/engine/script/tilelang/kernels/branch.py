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
