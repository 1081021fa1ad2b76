# %% [markdown]
# # TileLang: what limits FlashAttention?
#
# One block of threads computes 64 rows of the result, and keeps their scores, maxima and sums in registers. `K` is used early in an iteration
# and `V` late, so TileLang plans their copies at different places: see the orders of the loop `k`, and the slots of both tiles.
#
# With one stage a copy of `K` is on the critical path of each iteration. Give `num_stages=2` in the call
# at the end: copies run ahead, and 4 % of the cycles go. A third stage changes nothing: the copies
# need 77 % of the time, the lanes 64 %, and the tensor cores wait for exponentials that wait for them. Tiles of 128 keys (`block_N`)
# scale the sums half as often.

# %% machine
import tilewright

machine = tilewright.machine("sm80")

# %% workload
import tilelang
import tilelang.language as T


@tilelang.jit(out_idx=[3])
def attention(heads, seq, dim, block_M=64, block_N=64, num_stages=1):
    scale = (1.0 / dim) ** 0.5 * 1.44269504  # exp2 in place of exp
    shape = [heads, seq, dim]
    dtype, accum_dtype = T.float16, T.float32

    @T.prim_func
    def main(Q: T.Tensor(shape, dtype), K: T.Tensor(shape, dtype), V: T.Tensor(shape, dtype), O: T.Tensor(shape, dtype)):
        with T.Kernel(T.ceildiv(seq, block_M), heads, threads=128) as (bx, by):
            Q_shared = T.alloc_shared([block_M, dim], dtype)
            K_shared = T.alloc_shared([block_N, dim], dtype)
            V_shared = T.alloc_shared([block_N, dim], dtype)
            scores = T.alloc_fragment([block_M, block_N], accum_dtype)
            weights = T.alloc_fragment([block_M, block_N], dtype)
            out = T.alloc_fragment([block_M, dim], accum_dtype)
            largest = T.alloc_fragment([block_M], accum_dtype)
            before = T.alloc_fragment([block_M], accum_dtype)
            factor = T.alloc_fragment([block_M], accum_dtype)
            row_sum = T.alloc_fragment([block_M], accum_dtype)
            total = T.alloc_fragment([block_M], accum_dtype)

            T.copy(Q[by, bx * block_M, 0], Q_shared)
            T.clear(out)
            T.clear(total)
            T.fill(largest, -T.infinity(accum_dtype))
            for k in T.Pipelined(T.ceildiv(seq, block_N), num_stages=num_stages):
                T.copy(K[by, k * block_N, 0], K_shared)
                T.clear(scores)
                T.gemm(Q_shared, K_shared, scores, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
                T.copy(largest, before)
                T.reduce_max(scores, largest, dim=1, clear=False)
                for i in T.Parallel(block_M):
                    factor[i] = T.exp2(before[i] * scale - largest[i] * scale)
                for i, j in T.Parallel(block_M, block_N):
                    scores[i, j] = T.exp2(scores[i, j] * scale - largest[i] * scale)
                T.reduce_sum(scores, row_sum, dim=1)
                for i in T.Parallel(block_M):
                    total[i] = total[i] * factor[i] + row_sum[i]
                T.copy(scores, weights)
                for i, j in T.Parallel(block_M, dim):
                    out[i, j] *= factor[i]
                T.copy(V[by, k * block_N, 0], V_shared)
                T.gemm(weights, V_shared, out, policy=T.GemmWarpPolicy.FullRow)
            for i, j in T.Parallel(block_M, dim):
                out[i, j] /= total[i]
            T.copy(out, O[by, bx * block_M, 0])

    return main


main = attention(heads=4, seq=512, dim=64)

# %% schedule
sch = tilewright.Schedule(main)
