# %% machine
import tilewright

machine = tilewright.machine("h100")

# %% workload
import tilelang
import tilelang.language as T


@tilelang.jit(out_idx=[1])
def transpose(N, threads=256, dtype=T.float32):
    steps = threads // 32

    @T.prim_func
    def main(A: T.Tensor((N, N), dtype), B: T.Tensor((N, N), dtype)):
        with T.Kernel(N // 32, N // 32, threads=threads) as (bx, by):
            tile = T.alloc_shared((32, 32), dtype)
            tx = T.get_thread_binding()
            for j in T.serial(32 // steps):
                tile[j * steps + tx // 32, tx % 32] = A[by * 32 + j * steps + tx // 32, bx * 32 + tx % 32]
            for j in T.serial(32 // steps):
                B[bx * 32 + j * steps + tx // 32, by * 32 + tx % 32] = tile[tx % 32, j * steps + tx // 32]

    return main


main = transpose(N=32768)

# %% schedule
sch = tilewright.Schedule(main)
sch.annotate("tile", "engine", "lanes")
sch.annotate("B", "engine", "lanes")
