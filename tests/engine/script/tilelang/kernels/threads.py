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
