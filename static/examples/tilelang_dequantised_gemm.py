# %% [markdown]
# # TileLang: what does a 4-bit weight cost in a GEMM?
#
# A byte of `B` has two weights of 4 bits. They cross the memory bus in a quarter of the bytes of float16, and the lanes unpack each tile into
# shared memory before `T.gemm` reads it. With two stages the unpacking costs nothing: the lanes work 41 % of the time, beside the copies,
# which work 90 %. Most of these bring in `A`, which is not packed.
#
# Give `num_stages=1` in the call at the end: each product waits for its copies and for the unpacking, and takes 51 % longer. With `block_M=128`
# each unpacked tile serves twice as many rows, and 11 % of the cycles go.

# %% machine
import tilewright

machine = tilewright.machine("sm80")

# %% workload
import tilelang
import tilelang.language as T


@tilelang.jit(out_idx=[-1])
def dequantised_gemm(M, N, K, block_M=64, block_N=64, block_K=64, num_stages=2):
    @T.prim_func
    def main(A: T.Tensor((M, K), T.float16), B: T.Tensor((N, K // 2), T.uint8), C: T.Tensor((M, N), T.float16)):
        with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=128) as (bx, by):
            A_shared = T.alloc_shared((block_M, block_K), T.float16)
            packed = T.alloc_shared((block_N, block_K // 2), T.uint8)
            packed_local = T.alloc_fragment((block_N, block_K // 2), T.uint8)
            weights = T.alloc_fragment((block_N, block_K), T.float16)
            B_shared = T.alloc_shared((block_N, block_K), T.float16)
            C_local = T.alloc_fragment((block_M, block_N), T.float32)

            T.clear(C_local)
            for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=num_stages):
                T.copy(A[by * block_M, k * block_K], A_shared)
                T.copy(B[bx * block_N, k * block_K // 2], packed)
                T.copy(packed, packed_local)
                for i, j in T.Parallel(block_N, block_K):
                    weights[i, j] = T.cast((packed_local[i, j // 2] >> ((j % 2) * 4)) & 15, T.float16) - T.float16(8)
                T.copy(weights, B_shared)
                T.gemm(A_shared, B_shared, C_local, transpose_B=True)
            T.copy(C_local, C[by * block_M, bx * block_N])

    return main


main = dequantised_gemm(M=256, N=256, K=512)

# %% schedule
sch = tilewright.Schedule(main)
