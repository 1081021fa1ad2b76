import tilelang
import tilelang.language as T


@tilelang.jit(out_idx=[3])
def paged(pages, width, taken, block=8):
    @T.prim_func
    def main(
        table: T.Tensor((taken,), "int32"),
        lengths: T.Tensor((1,), "int32"),
        pool: T.Tensor((pages, width), "float32"),
        out: T.Tensor((2, width), "float32"),
    ):
        with T.Kernel(1, threads=64):
            rows = T.alloc_shared((block, width), "float32")
            sums = T.alloc_fragment((width,), "float32")
            scan = T.alloc_shared((width,), "float32")
            count = T.alloc_var("int32", init=0)
            T.clear(sums)
            limit = lengths[0]
            for b in T.serial(T.ceildiv(taken, block)):
                for i, j in T.Parallel(block, width):
                    page = T.if_then_else(b * block + i < taken, table[b * block + i], 0)
                    rows[i, j] = T.if_then_else(b * block + i < limit, pool[page, j], 0.0)
                T.reduce_sum(rows, sums, dim=0, clear=False)
                if b * block < limit:
                    count += block
            T.copy(sums, scan)
            T.cumsum(scan, dim=0, reverse=True)
            line = T.reshape(scan, [1, width])
            T.copy(line, out[0:1, :])
            for j in T.Parallel(width):
                out[1, j] = scan[j] * T.cast(count, "float32")

    return main
