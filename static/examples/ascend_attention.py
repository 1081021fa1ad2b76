# %% [markdown]
# # TileLang on Ascend: what do the cube and the vector cores wait for?
#
# An AI core of an Ascend 910B has a cube core and two vector cores without a common buffer: scores, weights and updates go through global
# memory, and each side waits for flags of the other. The two scopes of the text run here in the order that these flags allow. The timeline shows
# both sides idle in turn, and the traffic shows the round trips of `scores_gm`, `weights_gm` and `update_gm`.
#
# A wait for the other core stops all pipes of a core, so the copy of `V` stands behind the wait for the weights, which it does not need: write it
# above `T.wait_cross_flag(1)`. Then change `block_N` in the last line of the workload to 128 or 256: larger tiles have fewer drains and flags.

# %% machine
import tilewright

machine = tilewright.machine("ascend-910b")

# %% workload
import tilelang
import tilelang.language as T


@tilelang.jit(out_idx=[3], workspace_idx=[4, 5, 6], pass_configs={tilelang.PassConfigKey.TL_ASCEND_AUTO_SYNC: True})
def attention(heads, seq_len, dim, block_M=64, block_N=64):
    scale = (1.0 / dim) ** 0.5
    dtype, accum_dtype = "float16", "float"
    shape = [heads, seq_len, dim]
    half = block_M // 2
    blocks = seq_len // block_M

    @T.prim_func
    def main(
        Q: T.Tensor(shape, dtype),
        K: T.Tensor(shape, dtype),
        V: T.Tensor(shape, dtype),
        O: T.Tensor(shape, dtype),
        scores_gm: T.Tensor([blocks * heads, block_M, block_N], accum_dtype),
        weights_gm: T.Tensor([blocks * heads, block_M, block_N], dtype),
        update_gm: T.Tensor([blocks * heads, block_M, dim], accum_dtype),
    ):
        with T.Kernel(blocks * heads, is_npu=True) as (cid, vid):
            bx = cid % blocks
            h = cid // blocks
            q = T.alloc_L1([block_M, dim], dtype)
            k_l1 = T.alloc_L1([block_N, dim], dtype)
            v_l1 = T.alloc_L1([block_N, dim], dtype)
            weights = T.alloc_L1([block_M, block_N], dtype)
            scores_l0 = T.alloc_L0C([block_M, block_N], accum_dtype)
            update_l0 = T.alloc_L0C([block_M, dim], accum_dtype)
            acc = T.alloc_ub([half, dim], accum_dtype)
            total = T.alloc_ub([half], accum_dtype)
            largest = T.alloc_ub([half], accum_dtype)
            before = T.alloc_ub([half], accum_dtype)
            scores = T.alloc_ub([half, block_N], accum_dtype)
            scores_half = T.alloc_ub([half, block_N], dtype)
            sums = T.alloc_ub([half], accum_dtype)
            update = T.alloc_ub([half, dim], accum_dtype)
            result = T.alloc_ub([half, dim], dtype)
            with T.Scope("C"):
                T.copy(Q[h, bx * block_M : (bx + 1) * block_M, :], q)
                for k in T.serial(T.ceildiv(seq_len, block_N)):
                    T.copy(K[h, k * block_N : (k + 1) * block_N, :], k_l1)
                    T.gemm_v0(q, k_l1, scores_l0, transpose_B=True, init=True)
                    T.copy(scores_l0, scores_gm[cid, :, :])
                    T.set_cross_flag("FIX", 0)
                    T.wait_cross_flag(1)
                    T.copy(weights_gm[cid, :, :], weights)
                    T.copy(V[h, k * block_N : (k + 1) * block_N, :], v_l1)
                    T.gemm_v0(weights, v_l1, update_l0, init=True)
                    T.copy(update_l0, update_gm[cid, :, :])
                    T.set_cross_flag("FIX", 2)
                    T.wait_cross_flag(3)
            with T.Scope("V"):
                T.tile.fill(acc, 0.0)
                T.tile.fill(total, 0.0)
                T.tile.fill(largest, -(2**30))
                for step in T.serial(T.ceildiv(seq_len, block_N)):
                    T.copy(largest, before)
                    T.wait_cross_flag(0)
                    T.copy(scores_gm[cid, vid * half : vid * half + half, :], scores)
                    T.tile.mul(scores, scores, scale)
                    T.reduce_max(scores, largest, dim=-1)
                    T.tile.max(largest, largest, before)
                    T.tile.sub(before, before, largest)
                    T.tile.exp(before, before)
                    for i in range(half):
                        T.tile.sub(scores[i, :], scores[i, :], largest[i])
                    T.tile.exp(scores, scores)
                    T.reduce_sum(scores, sums, dim=-1)
                    T.tile.mul(total, total, before)
                    T.tile.add(total, total, sums)
                    for i in range(half):
                        T.tile.mul(acc[i, :], acc[i, :], before[i])
                    T.copy(scores, scores_half)
                    T.copy(scores_half, weights_gm[cid, vid * half : vid * half + half, :])
                    T.set_cross_flag("MTE3", 1)
                    T.wait_cross_flag(2)
                    T.copy(update_gm[cid, vid * half : vid * half + half, :], update)
                    T.tile.add(acc, acc, update)
                    T.set_cross_flag("V", 3)
                for i in range(half):
                    T.tile.div(acc[i, :], acc[i, :], total[i])
                T.copy(acc, result)
                T.copy(result, O[h, bx * block_M + vid * half : bx * block_M + vid * half + half, :])

    return main


main = attention(heads=1, seq_len=512, dim=64, block_M=64, block_N=64)

# %% schedule
sch = tilewright.Schedule(main)
