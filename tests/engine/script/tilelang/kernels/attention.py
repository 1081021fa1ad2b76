import tilelang
import tilelang.language as T


@tilelang.jit(out_idx=[3])
def attention(heads, queries, keys, dim, is_causal=True, block_M=32, block_N=16, num_stages=2):
    scale = (1.0 / dim) ** 0.5 * 1.44269504
    dtype, accum_dtype = T.float16, T.float32
    past = keys - queries

    @T.macro
    def update(scores, scores_max, scores_sum, acc, factor):
        before = T.alloc_fragment([block_M], accum_dtype)
        T.copy(scores_max, before)
        T.fill(scores_max, -T.infinity(accum_dtype))
        T.reduce_max(scores, scores_max, dim=1, clear=True)
        for i in T.Parallel(block_M):
            scores_max[i] = T.max(scores_max[i], before[i])
        for i, j in T.Parallel(block_M, block_N):
            scores[i, j] = T.exp2(scores[i, j] * scale - scores_max[i] * scale)
        for i in T.Parallel(block_M):
            factor[i] = T.exp2(before[i] * scale - scores_max[i] * scale)
        for i in T.Parallel(block_M):
            scores_sum[i] *= factor[i]
        T.reduce_sum(scores, scores_sum, dim=1, clear=False)
        for i, j in T.Parallel(block_M, dim):
            acc[i, j] *= factor[i]

    @T.prim_func
    def main(
        Q: T.Tensor([heads, queries, dim], dtype),
        K: T.Tensor([heads, keys, dim], dtype),
        V: T.Tensor([heads, keys, dim], dtype),
        O: T.Tensor([heads, queries, dim], dtype),
    ):
        with T.Kernel(T.ceildiv(queries, block_M), heads, threads=128) as (bx, h):
            Q_shared = T.alloc_shared([block_M, dim], dtype)
            K_shared = T.alloc_shared([block_N, dim], dtype)
            V_shared = T.alloc_shared([block_N, dim], dtype)
            scores = T.alloc_fragment([block_M, block_N], accum_dtype)
            weights = T.alloc_fragment([block_M, block_N], dtype)
            acc = T.alloc_fragment([block_M, dim], accum_dtype)
            scores_max = T.alloc_fragment([block_M], accum_dtype)
            scores_sum = T.alloc_fragment([block_M], accum_dtype)
            factor = T.alloc_fragment([block_M], accum_dtype)
            T.copy(Q[h, bx * block_M : (bx + 1) * block_M, :], Q_shared)
            T.clear(acc)
            T.clear(scores_sum)
            T.fill(scores_max, -T.infinity(accum_dtype))
            steps = (
                T.min(T.ceildiv(keys, block_N), T.ceildiv((bx + 1) * block_M + past, block_N))
                if is_causal
                else T.ceildiv(keys, block_N)
            )
            for k in T.Pipelined(steps, num_stages=num_stages):
                T.copy(K[h, k * block_N : (k + 1) * block_N, :], K_shared)
                for i, j in T.Parallel(block_M, block_N):
                    row = bx * block_M + i + past
                    scores[i, j] = T.if_then_else(
                        k * block_N + j < keys and (not is_causal or row >= k * block_N + j),
                        0,
                        -T.infinity(accum_dtype),
                    )
                T.gemm(Q_shared, K_shared, scores, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
                update(scores, scores_max, scores_sum, acc, factor)
                T.copy(scores, weights)
                T.copy(V[h, k * block_N : (k + 1) * block_N, :], V_shared)
                T.gemm(weights, V_shared, acc, policy=T.GemmWarpPolicy.FullRow)
            for i, j in T.Parallel(block_M, dim):
                acc[i, j] /= scores_sum[i]
            T.copy(acc, O[h, bx * block_M : (bx + 1) * block_M, :])

    return main
