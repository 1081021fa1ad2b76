# %% [markdown]
# # TileLang: how many stages does a GEMM need?
#
# `T.Pipelined(…, num_stages=3)` copies the tiles of later iterations while the tensor cores use the present ones. The loop `k` shows the stages
# and orders that TileLang plans, the memories show the slots of `A_shared` and `B_shared`, the timeline shows what waits for what.
#
# Change `num_stages` in the last line of the workload to 0, 1, 2 or 4. Without stages each product waits for its copies. Two stages hide
# them; a third one costs 16 KiB of shared memory and saves 1 %, because one multiprocessor's share of the memory bandwidth is the limit.
# A larger `block_N` needs fewer bytes for each product.

# %% machine
import tilewright

machine = tilewright.machine("sm80")

# %% workload
import tilelang
import tilelang.language as T


@tilelang.jit(out_idx=[-1])
def gemm(M, N, K, block_M=128, block_N=128, block_K=32, num_stages=3, dtype=T.float16, accum_dtype=T.float32):
    @T.prim_func
    def main(A: T.Tensor((M, K), dtype), B: T.Tensor((K, N), dtype), C: T.Tensor((M, N), dtype)):
        with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=128) as (bx, by):
            A_shared = T.alloc_shared((block_M, block_K), dtype)
            B_shared = T.alloc_shared((block_K, block_N), dtype)
            C_local = T.alloc_fragment((block_M, block_N), accum_dtype)
            T.clear(C_local)
            for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=num_stages):
                T.copy(A[by * block_M, k * block_K], A_shared)
                T.copy(B[k * block_K, bx * block_N], B_shared)
                T.gemm(A_shared, B_shared, C_local)
            T.copy(C_local, C[by * block_M, bx * block_N])

    return main


main = gemm(M=512, N=512, K=1024, num_stages=3)

# %% schedule
sch = tilewright.Schedule(main)
