import tilelang
import tilelang.language as T


def helpers():
    import tilelang.language as L

    return L


def rows(width, stride, op, last=False):
    n = T.dynamic("n")
    L = helpers()

    if not last:
        @T.prim_func
        def main(
            used: T.Tensor((1,), "int32"),
            X: T.StridedTensor[(n, width), (stride, 1), "float32"],
            Y: L.Tensor((n, width), "float32"),
        ):
            with T.Kernel(3, threads=8) as block:
                thread = T.get_thread_binding()
                if block >= used[0]:
                    T.thread_return()
                rest = 0
                for row in T.serial(block * 8 + thread, n, 24):
                    for column in T.serial(width):
                        index = row * width + column
                        y = index % width
                        index //= width
                        with T.If(column % 2 == 0):
                            with T.Then():
                                Y[index, y] = op(T.ieee_mul(X[row, column], 2.0))
                            with T.Else():
                                Y[index, y] = T.float32(float("nan"))
                    rest += 1
                if thread == 0 and block == 0:
                    Y[0, width - 1] = rest
                n = T.alloc_var("int32")
                n = 3

        return main
