import tilelang
import tilelang.language as T


@tilelang.jit(out_idx=[2])
def sums(N=8):
    M = T.symbolic("M")
    cores = M // 2

    @T.prim_func
    def main(lengths: T.Tensor((M,), "int32"), X: T.Tensor((M, N), "float"), out: T.Tensor((M, N), "float")):
        with T.Kernel(cores, is_npu=True) as (cid, vid):
            row = T.alloc_ub((1, N), "float")
            total = T.alloc_ub((1, N), "float")
            here = cid * 2 + vid
            taken = lengths[here]
            with T.Scope("V"):
                T.tile.fill(total, 0.0)
                for i in T.serial(here, here + taken):
                    T.copy(X[i, 0], row)
                    T.tile.add(total, total, row)
                with T.If(taken > 1):
                    with T.Then():
                        T.tile.mul(total, total, 2.0)
                    with T.Else():
                        T.tile.add(total, total, 1.0)
                with T.If(taken == 3), T.Then():
                    T.tile.mul(total, total, 4.0)
                T.copy(total, out[here, 0])

    return main
