import tilelang
import tilelang.language as T


@tilelang.jit
def product(A, B, rows=8, depth=16):
    N, K = T.const("N, K")
    A: T.Tensor((K,), T.float32)
    B: T.Tensor((N, K), T.float32)
    C = T.empty((N,), T.float32)
    with T.Kernel(T.ceildiv(N, rows), threads=(rows, depth)) as bn:
        tn = T.get_thread_binding(0)
        tk = T.get_thread_binding(1)
        a = T.alloc_local((1,), T.float32)
        total = T.alloc_local((1,), T.float32)
        sums = T.alloc_shared((rows,), T.float32)
        if tk == 0:
            sums[tn] = 0
        T.clear(total)
        for k in T.serial(T.ceildiv(K, depth)):
            a[0] = A[k * depth + tk]
            if bn * rows + tn < N:
                total[0] += a[0] * B[bn * rows + tn, k * depth + tk]
        T.sync_threads()
        T.atomic_add(sums[tn], total[0])
        T.sync_threads()
        if tk == 0:
            C[bn * rows + tn] = sums[tn]
    return C


@tilelang.jit
def gemm(A, B, block_M=64, block_N=64, block_K=32, stages=2, waits=True, frees=True):
    M, N, K = T.const("M, N, K")
    A: T.Tensor((M, K), T.float16)
    B: T.Tensor((K, N), T.float16)
    C = T.empty((M, N), T.float16)
    with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=256) as (bx, by):
        A_shared = T.alloc_shared((stages, block_M, block_K), T.float16)
        B_shared = T.alloc_shared((stages, block_K, block_N), T.float16)
        C_local = T.alloc_fragment((block_M, block_N), T.float32)
        full = T.alloc_barrier([128] * stages)
        free = T.alloc_barrier([128] * stages)
        with T.ws(0):
            T.clear(C_local)
        for k in range(T.ceildiv(K, block_K)):
            with T.ws(1):
                if frees:
                    T.mbarrier_wait_parity(free[k % stages], ((k // stages) & 1) ^ 1)
                T.tma_copy(A[by * block_M, k * block_K], A_shared[k % stages, :, :], barrier=full[k % stages])
                T.tma_copy(B[k * block_K, bx * block_N], B_shared[k % stages, :, :], barrier=full[k % stages])
                T.mbarrier_arrive(full[k % stages])
            with T.ws(0):
                if waits:
                    T.mbarrier_wait_parity(full[k % stages], (k // stages) & 1)
                T.gemm(A_shared[k % stages, :, :], B_shared[k % stages, :, :], C_local)
                T.mbarrier_arrive(free[k % stages])
        with T.ws(0):
            T.copy(C_local, C[by * block_M, bx * block_N])
    return C


@tilelang.jit
def branches(X, rows=16, stages=2, later=0, count=128):
    """Three groups of threads: one copies, two compute a half of the columns each, and the second one needs what the first one found."""
    M, N = T.const("M, N")
    X: T.Tensor((M, N), T.float32)
    Y = T.empty((M, N), T.float32)
    with T.Kernel(1, threads=384) as bx:
        x = T.alloc_shared((stages, rows, N), T.float32)
        high = T.alloc_shared((rows,), T.float32)
        part = T.alloc_fragment((rows, N), T.float32)
        most = T.alloc_fragment((rows,), T.float32)
        full = T.alloc_barrier([128] * stages)
        free = T.alloc_barrier([256] * stages)
        found = T.alloc_barrier(count)
        used = T.alloc_barrier(128)
        tx = T.get_thread_binding()
        if tx < 128:
            for k in T.serial(M // rows):
                T.barrier_wait(full[k % stages], (k // stages) & 1)
                T.copy(x[k % stages, :, :], part)
                T.reduce_max(part, most, dim=1)
                T.barrier_wait(used, (k & 1) ^ 1)
                T.copy(most, high)
                T.barrier_arrive(found)
                for i, j in T.Parallel(rows, N // 2):
                    Y[k * rows + i, j] = x[k % stages, i, j] - most[i]
                T.barrier_arrive(free[k % stages])
        elif tx < 256:
            for k in T.serial(M // rows):
                T.barrier_wait(found, (k + later) & 1)
                T.barrier_wait(full[k % stages], (k // stages) & 1)
                for i, j in T.Parallel(rows, N // 2):
                    Y[k * rows + i, N // 2 + j] = x[k % stages, i, N // 2 + j] - high[i]
                T.barrier_arrive(used)
                T.barrier_arrive(free[k % stages])
        else:
            for k in T.serial(M // rows):
                T.barrier_wait(free[k % stages], ((k // stages) & 1) ^ 1)
                T.tma_copy(X[k * rows, 0], x[k % stages, :, :], barrier=full[k % stages])
                T.barrier_arrive(full[k % stages])
    return Y


def helpers():
    import tilelang.language as L

    return L


def returning(width, stride, op, last=False):
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
                n = 3  # a name of the kernel; its parameters mean the one above

        return main


@tilelang.jit
def persistent(A, B, block=32, depth=32, stages=2, workers=3):
    """Each group goes over all tiles of its block."""
    M, N, K = T.const("M, N, K")
    A: T.Tensor((M, K), T.float16)
    B: T.Tensor((K, N), T.float16)
    C = T.empty((M, N), T.float16)
    steps = T.ceildiv(K, depth)
    with T.Kernel(workers, threads=256) as bx:
        A_shared = T.alloc_shared((stages, block, depth), T.float16)
        B_shared = T.alloc_shared((stages, depth, block), T.float16)
        C_local = T.alloc_fragment((block, block), T.float32)
        full = T.alloc_barrier([128] * stages)
        free = T.alloc_barrier([128] * stages)
        tx = T.get_thread_binding()
        if tx < 128:
            tiles = T.PersistentTileScheduler(T.ceildiv(M, block), T.ceildiv(N, block), num_workers=workers)
            tiles.init(bx)
            while tiles.valid():
                T.clear(C_local)
                for k in T.serial(steps):
                    slot = tiles.current_iter * steps + k
                    T.mbarrier_wait_parity(full[slot % stages], (slot // stages) & 1)
                    T.gemm(A_shared[slot % stages, :, :], B_shared[slot % stages, :, :], C_local)
                    T.mbarrier_arrive(free[slot % stages])
                T.copy(C_local, C[tiles.m_idx * block, tiles.n_idx * block])
                tiles.next_tile()
        else:
            tiles = T.PersistentTileScheduler(T.ceildiv(M, block), T.ceildiv(N, block), num_workers=workers)
            tiles.init(bx)
            while tiles.valid():
                i, j = tiles.m_idx, tiles.n_idx
                for k in T.serial(steps):
                    slot = tiles.current_iter * steps + k
                    T.mbarrier_wait_parity(free[slot % stages], ((slot // stages) & 1) ^ 1)
                    T.tma_copy(A[i * block, k * depth], A_shared[slot % stages, :, :], barrier=full[slot % stages])
                    T.tma_copy(B[k * depth, j * block], B_shared[slot % stages, :, :], barrier=full[slot % stages])
                    T.mbarrier_arrive(full[slot % stages])
                tiles.next_tile()
    return C


class Search:
    def __init__(self, count):
        self.count = count

    @property
    def find(self):
        count = self.count

        @T.macro
        def found_at(wanted, items, place):
            low = T.alloc_local([1], "int32")
            high = T.alloc_local([1], "int32")
            low[0] = 0
            high[0] = count
            for _ in T.serial(7):
                middle = T.alloc_var("int32")
                middle = (low[0] + high[0]) // 2
                if low[0] < high[0]:
                    if items[middle] < wanted:
                        low[0] = middle + 1
                    else:
                        high[0] = middle
            place[0] = low[0]

        return found_at


def searched(N, M):
    search = Search(N)

    @T.prim_func
    def main(X: T.Tensor((N,), "int32"), Q: T.Tensor((M,), "int32"), Y: T.Tensor((M,), "int32")):
        with T.Kernel(T.ceildiv(M, 16), threads=16) as bx:
            tx = T.get_thread_binding()
            at = T.alloc_local([1], "int32")
            if bx * 16 + tx < M:
                search.find(Q[bx * 16 + tx], X, at)
                Y[bx * 16 + tx] = at[0]

    return main
