# %% machine
import tilewright

machine = tilewright.machine("a100")

# %% workload
import tilelang
import tilelang.language as T


@tilelang.jit
def reads(width, step, blocks=432, threads=256, rounds=64, count=8):
    @T.prim_func
    def main(out: T.Tensor((blocks * threads * width,), "float32")):
        with T.Kernel(blocks, threads=threads) as bx:
            words = T.alloc_shared((threads * max(step, 1) * width,), "float32")
            sums = T.alloc_shared((threads * width,), "float32")
            total = T.alloc_local((width,), "float32")
            tx = T.get_thread_binding()
            for r in T.serial(rounds):
                for n in T.serial(count):
                    for v in T.vectorized(width):
                        total[v] = total[v] + words[tx * step * width + v]
                for v in T.vectorized(width):
                    sums[tx * width + v] = total[v]
            for v in T.vectorized(width):
                out[(bx * threads + tx) * width + v] = sums[tx * width + v]

    return main


main = reads(width=1, step=1)

# %% schedule
sch = tilewright.Schedule(main)
