import tilelang
import tilelang.language as T


@tilelang.jit(out_idx=[1, 2, 3, 4, 5])
def copies(M=5, N=24, dtype="float"):
    def move(target, source):
        if dtype == "float":
            return T.copy(source, target)
        else:
            return T.tile.cast(target, source, "CAST_NONE", M * N)

    @T.prim_func
    def main(
        X: T.Tensor((M, N), dtype),
        padded: T.Tensor((8, 32), dtype),
        part: T.Tensor((32,), dtype),
        columns: T.Tensor((32, 8), dtype),
        whole: T.Tensor((4, 64), "int32"),
        order: T.Tensor((32,), "int32"),
    ):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            x = T.alloc_ub((8, 32), dtype)
            y = T.alloc_ub((4, 64), dtype)
            turned = T.alloc_ub((32, 8), dtype)
            row = T.alloc_ub((32,), dtype)
            integers = T.alloc_ub((4, 64), "int32")
            distances = T.alloc_ub((32,), "int32")
            numbers = T.alloc_ub((32,), "int32")
            reordered = T.alloc_ub((32,), "int32")
            if vid == 0:
                T.copy(X[0, 0], x, pad_value=-1.0)
                move(padded, x)
                T.copy(X[3, 0:20], row)
                T.copy(row, part)
                T.tile.transpose(turned, x)
                T.copy(turned, columns)
                T.copy(x, y)
                T.tile.abs(y, y)
                T.tile.axpy(y, y, 1.0)
                T.tile.cast(integers, y, "CAST_RINT", 256)
                T.copy(integers, whole)
                T.tile.createvecindex(numbers, 0)
                T.tile.arith_progression(distances, 124, -4, 32)
                T.tile.gather(reordered, numbers, distances, 0)
                T.copy(reordered, order)

    return main
