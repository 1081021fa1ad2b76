import tilelang
import tilelang.language as T


@tilelang.jit(out_idx=[2, 3, 4])
def rows(M, N, block_M=8, dtype="float"):
    half = block_M // 2

    @T.macro
    def squared(target, source, count):
        T.tile.mul(target, source, source)
        T.reduce_sum(target, count, dim=-1)

    @T.prim_func
    def main(
        X: T.Tensor((M, N), dtype),
        W: T.Tensor((N,), dtype),
        soft: T.Tensor((M, N), "float16"),
        norm: T.Tensor((M, N), dtype),
        high: T.Tensor((M, N), dtype),
    ):
        with T.Kernel(T.ceildiv(M, block_M), is_npu=True) as (cid, vid):
            x = T.alloc_ub((half, N), dtype)
            y = T.alloc_ub((half, N), dtype)
            wide = T.alloc_ub((half, N), dtype)
            narrow = T.alloc_ub((half, N), "float16")
            w = T.alloc_ub((1, N), dtype)
            row = T.alloc_ub((half,), dtype)
            mask = T.alloc_ub((half * N // 8,), "uint8")
            first = cid * block_M + vid * half
            with T.Scope("V"):
                T.copy(X[first : first + half, :], x)
                T.copy(W, w)
                T.barrier_all()
                T.reduce_max(x, row, dim=-1)
                for i in T.serial(half):
                    T.tile.sub(y[i, :], x[i, :], row[i])
                T.tile.exp(y, y)
                T.reduce_sum(y, row, dim=1)
                T.tile.broadcast(wide, row, axis=1)
                T.tile.div(y, y, wide)
                T.tile.cast(narrow, y, "CAST_RINT", half * N)
                T.copy(narrow, soft[first, 0])
                squared(y, x, row)
                T.tile.mul(row, row, 1.0 / N)
                T.tile.add(row, row, 1e-5)
                T.tile.rsqrt(row, row)
                T.tile.row_expand_mul(y, x, row)
                for i in range(half):
                    T.tile.mul(y[i, :], y[i, :], w)
                T.copy(y, norm[first : first + half, :])
                T.tile.fill(wide, 0.0)
                T.tile.compare(mask, x, 0.5, "GT")
                T.tile.select(y, mask, x, wide, "VSEL_TENSOR_TENSOR_MODE")
                for i, j in T.Parallel(half, N):
                    y[i, j] = y[i, j] * 2 + T.if_then_else(x[i, j] < 0, 1.0, 0.0)
                T.copy(y, high[first, 0])

    return main


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
