# %% machine
import tilewright

machine = tilewright.machine("a100")

# %% workload
import tilelang
import tilelang.language as T


@tilelang.jit(out_idx=[3])
def attention(heads, queries, keys, dim, block_M=64, block_N=64, num_stages=0, layout="swizzled"):
    scale = (1.0 / dim) ** 0.5 * 1.44269504  # exp2 in place of exp
    q_shape, kv_shape = [heads, queries, dim], [heads, keys, dim]
    dtype, accum_dtype = T.bfloat16, T.float32

    @T.prim_func
    def main(Q: T.Tensor(q_shape, dtype), K: T.Tensor(kv_shape, dtype), V: T.Tensor(kv_shape, dtype), O: T.Tensor(q_shape, dtype)):
        with T.Kernel(T.ceildiv(queries, block_M), heads, threads=128) as (bx, by):
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

            if layout == "linear":
                T.annotate_layout({tile: tilelang.layout.make_linear_layout(tile) for tile in (Q_shared, K_shared, V_shared)})
            T.copy(Q[by, bx * block_M, 0], Q_shared)
            T.clear(out)
            T.clear(total)
            T.fill(largest, -T.infinity(accum_dtype))
            for k in T.Pipelined(T.ceildiv(keys, block_N), num_stages=num_stages):
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


main = attention(heads=8, queries=4096, keys=8192, dim=128)

# %% schedule
sch = tilewright.Schedule(main)
