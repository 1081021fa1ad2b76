# %% [markdown]
# # TileLang on a whole H100: too few blocks
#
# 16 tiles of C are 16 blocks: 116 of the 132 multiprocessors have no work, and the others are busy with a long reduction. The findings name
# the idle cores. Change `block_M` and `block_N` in the last line of the workload to 64: 64 blocks take 45 % fewer cycles. With `block_M=32`
# it takes longer again: each byte of A and B is read more often, and the port that all multiprocessors share is the limit.

# %% machine
import tilewright

machine = tilewright.machine("h100")

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


main = gemm(M=512, N=512, K=4096, block_M=128, block_N=128)

# %% schedule
sch = tilewright.Schedule(main)
