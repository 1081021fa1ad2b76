import tilelang
import tilelang.language as T


@tilelang.jit
def exchanged(A, shift=2, threads=64):
    N = T.const("N")
    A: T.Tensor((N, threads), T.float32)
    B = T.empty((4, N, threads), T.float32)
    with T.Kernel(N, threads=threads) as row:
        tx = T.get_thread_binding()
        x = T.alloc_local((1,), T.float32)
        x[0] = A[row, tx]
        B[0, row, tx] = T.shfl_xor(x[0], shift)
        B[1, row, tx] = T.shfl_down(x[0], shift)
        x[0] += T.shfl_up(x[0], shift)
        B[2, row, tx] = x[0]
        B[3, row, tx] = T.warp_reduce_sum(A[row, tx])
    return B


@tilelang.jit
def uneven(A, length=40, threads=32):
    M = T.const("M")
    A: T.Tensor((M,), T.int32)
    counts = T.empty((threads,), T.int32)
    found = T.empty((M,), T.int32)
    with T.Kernel(1, threads=threads):
        tx = T.thread_binding(0, threads, thread="threadIdx.x")
        total = T.alloc_var(T.int32, init=0)
        size = T.alloc_shared((1,), T.int32)
        if tx == 0:
            size[0] = 0
        T.sync_threads()
        for i in T.serial(tx, length, threads):
            if A[i] > 0:
                total += A[i]
                at = T.atomic_add(size[0], 1, return_prev=True)
                found[at] = i
        for j in range(tx):
            total += j
        counts[tx] = total
    return counts, found


@tilelang.jit
def groups(A, B, size=32, threads=64):
    M = T.const("M")
    A: T.Tensor((M, M), T.float16)
    B: T.Tensor((M, M), T.float16)
    C = T.empty((2, M, M), T.float32)
    with T.Kernel(1, threads=threads):
        tx = T.get_thread_binding()
        left = T.alloc_shared((size, size), T.float16)
        right = T.alloc_shared((size, size), T.float16)
        product = T.alloc_fragment((size, size), T.float32)
        steps = T.alloc_var(T.int32, init=0)
        T.copy(A, left)
        T.copy(B, right)
        T.clear(product)
        for k in T.serial(3):
            if tx < 32:
                T.gemm(left, right, product)
            if steps == 1:
                T.gemm(left, right, product)
            steps += 1
        T.copy(product, C[0, :, :])
        if tx >= 32:
            for i, j in T.Parallel(size, size):
                product[i, j] += 1
        T.copy(product, C[1, :, :])
    return C


@tilelang.jit
def sums(A, rows=4, depth=8):
    M, K = T.const("M, K")
    A: T.Tensor((M, K), T.float32)
    B = T.empty((2, M), T.float32)
    with T.Kernel(T.ceildiv(M, rows), threads=(depth, rows)) as block:
        tk = T.thread_binding(0, depth, thread="threadIdx.x")
        tm = T.thread_binding(0, rows, thread="threadIdx.y")
        own = T.alloc_local((1,), T.float32)
        total = T.alloc_local((1,), T.float32)
        T.clear(own)
        for k in T.serial(T.ceildiv(K, depth)):
            if k * depth + tk < K:
                own[0] += A[block * rows + tm, k * depth + tk]
        with T.attr(
            T.comm_reducer(lambda x, y: x + y, [T.cast(0, T.float32)]),
            "reduce_scope",
            T.reinterpret(T.uint64(0), dtype="handle"),
        ):
            T.evaluate(T.tvm_thread_allreduce(T.uint32(1), own[0], True, total[0], tk, dtype="handle"))
        if tk == 0:
            B[0, block * rows + tm] = total[0]
        if tk == depth - 1:
            B[1, block * rows + tm] = total[0] * 2
    return B


def number():
    return T.get_thread_binding()


@tilelang.jit
def repeated(A, threads=32):
    A: T.Tensor((32,), T.float32)
    B = T.empty((3,), T.float32)
    with T.Kernel(1, threads=threads):
        own = T.alloc_local((2,), T.float32)
        line = T.view(own, (1, 2))
        line[0, 1] = A[number()]
        T.atomic_add(B[0], 1.0)
        T.atomic_add(B[1], own[1])
        for i in T.Parallel(4):
            T.atomic_add(B[2], A[i])
    return B
