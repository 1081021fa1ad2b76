# %% [markdown]
# # TileLang on a whole A100: occupancy and waves
#
# 1,024 blocks of threads run on 108 multiprocessors. Each holds three blocks at a time, as registers and shared memory allow. So 324 blocks
# run at once, in four waves, and the last wave is short. The blocks of a multiprocessor run together, and wait for their copies together.
#
# Change `num_stages` in the last line of the workload to 2: 1 % is lost, as the copies still run ahead; with 1 it takes 73 % longer.
# With `threads=256` a block has the registers of twice the threads, and a multiprocessor holds two.
#
# With `M=4096, N=32768, K=4096, block_M=64, block_N=64` the tiles of a wave do not meet in the second-level cache: 60 % of the bytes hit.
# *Problems* has the order of blocks that saves 36 % of the cycles, and the panel on the right the hit rate by order.

# %% machine
import tilewright

machine = tilewright.machine("a100")

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


main = gemm(M=4096, N=4096, K=1024, num_stages=3)

# %% schedule
sch = tilewright.Schedule(main)
