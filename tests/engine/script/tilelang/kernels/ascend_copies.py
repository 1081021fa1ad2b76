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


@tilelang.jit(out_idx=[-1], target="ascendc")
def scaled(M, N, rows=16, sync="flags"):
    @T.prim_func
    def main(X: T.Tensor((M, N), "float32"), Y: T.Tensor((M, N), "float32")):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            x = T.alloc_ub((2, rows, N), "float32")
            y = T.alloc_ub((2, rows, N), "float32")
            with T.Scope("V"):
                if sync == "flags":
                    T.set_flag("v", "mte2", 0)
                    T.set_flag("v", "mte2", 1)
                    T.set_flag("mte3", "v", 0)
                    T.set_flag("mte3", "v", 1)
                for k in T.serial(M // 2 // rows):
                    if sync == "flags":
                        T.wait_flag("v", "mte2", k % 2)
                    T.copy(X[vid * (M // 2) + k * rows, 0], x[k % 2, :, :])
                    if sync == "flags":
                        T.set_flag("mte2", "v", k % 2)
                        T.wait_flag("mte2", "v", k % 2)
                        T.wait_flag("mte3", "v", k % 2)
                    elif sync == "barriers":
                        T.barrier_all()
                    T.tile.mul(y[k % 2, :, :], x[k % 2, :, :], 2.0)
                    if sync == "flags":
                        T.set_flag("v", "mte2", k % 2)
                        T.set_flag("v", "mte3", k % 2)
                        T.wait_flag("v", "mte3", k % 2)
                    elif sync == "barriers":
                        T.barrier_all()
                    T.copy(y[k % 2, :, :], Y[vid * (M // 2) + k * rows, 0])
                    if sync == "flags":
                        T.set_flag("mte3", "v", k % 2)
                    elif sync == "barriers":
                        T.barrier_all()
                if sync == "flags":
                    T.wait_flag("v", "mte2", 0)
                    T.wait_flag("v", "mte2", 1)
                    T.wait_flag("mte3", "v", 0)
                    T.wait_flag("mte3", "v", 1)

    return main
