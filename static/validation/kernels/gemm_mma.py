# %% machine
import tilewright

machine = tilewright.machine("a100")

# %% workload
import tilelang
import tilelang.language as T


@tilelang.jit(out_idx=[-1])
def gemm(M, N, K, block_M=128, block_N=128, block_K=64, num_stages=0, threads=128, layout="swizzled", swizzle=0, transpose_B=True, dtype=T.bfloat16, accum_dtype=T.float32):
    B_shape = (N, K) if transpose_B else (K, N)
    B_tile = (block_N, block_K) if transpose_B else (block_K, block_N)

    @T.prim_func
    def main(A: T.Tensor((M, K), dtype), B: T.Tensor(B_shape, dtype), C: T.Tensor((M, N), dtype)):
        with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=threads) as (bx, by):
            A_shared = T.alloc_shared((block_M, block_K), dtype)
            B_shared = T.alloc_shared(B_tile, dtype)
            C_local = T.alloc_fragment((block_M, block_N), accum_dtype)
            if layout == "linear":
                T.annotate_layout({A_shared: tilelang.layout.make_linear_layout(A_shared), B_shared: tilelang.layout.make_linear_layout(B_shared)})
            if swizzle:
                T.use_swizzle(swizzle)
            T.clear(C_local)
            for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=num_stages):
                T.copy(A[by * block_M, k * block_K], A_shared)
                if transpose_B:
                    T.copy(B[bx * block_N, k * block_K], B_shared)
                else:
                    T.copy(B[k * block_K, bx * block_N], B_shared)
                T.gemm(A_shared, B_shared, C_local, transpose_B=transpose_B)
            T.copy(C_local, C[by * block_M, bx * block_N])

    return main


main = gemm(M=4096, N=4096, K=4096, layout="linear")

# %% schedule
sch = tilewright.Schedule(main)
