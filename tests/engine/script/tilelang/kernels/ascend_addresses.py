import tilelang
import tilelang.language as T


@tilelang.jit(out_idx=[-1])
def chain(M, N, second=0, tail=0, rows=16):
    @T.prim_func
    def main(X: T.Tensor((M, N), "float32"), Y: T.Tensor((M, N), "float32")):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            x = T.alloc_ub((rows, N), "float32")
            y = T.alloc_ub((rows, N), "float32")
            z = T.alloc_ub((rows, N), "float32")
            T.annotate_address({x: 0, y: 4 * rows * N, z: second})
            with T.Scope("V"):
                for i in T.serial(M // (2 * rows)):
                    row = (2 * i + vid) * rows
                    T.copy(X[row : row + rows, :], x)
                    T.tile.add(y, x, x)
                    T.tile.mul(z, y, y)
                    if tail:
                        T.tile.add(z, z, x)
                    T.copy(z, Y[row : row + rows, :])

    return main
