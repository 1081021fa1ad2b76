# %% machine
import tilewright

machine = tilewright.machine("a100")

# %% workload
import tilelang
import tilelang.language as T


@tilelang.jit(out_idx=[2])
def sgemm(M, N, K, BM=128, BN=128, BK=8, TM=8, TN=8, A_transposed=True, wide=4, row_parts=1, column_parts=1, dtype=T.float32):
    # a thread sums TM x TN elements; its rows and columns are consecutive, or in parts of equal length
    # of a tile of A that is not transposed it loads four columns at once, as nvcc compiles the unrolled loop
    depth = 1 if A_transposed else 4
    tm, tn = TM // row_parts, TN // column_parts
    threads = BM * BN // (TM * TN)
    columns = BN // TN
    A_steps, B_steps = BM * BK // (threads * wide), BK * BN // (threads * wide)
    A_tile = (BK, BM) if A_transposed else (BM, BK)

    @T.prim_func
    def main(A: T.Tensor((M, K), dtype), B: T.Tensor((K, N), dtype), C: T.Tensor((M, N), dtype)):
        with T.Kernel(T.ceildiv(N, BN), T.ceildiv(M, BM), threads=threads) as (bx, by):
            As = T.alloc_shared(A_tile, dtype)
            Bs = T.alloc_shared((BK, BN), dtype)
            acc = T.alloc_local((TM, TN), dtype)
            a = T.alloc_local((TM, depth), dtype)
            b = T.alloc_local((TN,), dtype)
            tx = T.get_thread_binding()
            for k in T.serial(K // BK):
                for s in T.serial(A_steps):
                    for v in T.vectorized(wide):
                        if A_transposed:
                            As[(s * threads + tx) * wide % BK + v, (s * threads + tx) * wide // BK] = A[by * BM + (s * threads + tx) * wide // BK, k * BK + (s * threads + tx) * wide % BK + v]
                        else:
                            As[(s * threads + tx) * wide // BK, (s * threads + tx) * wide % BK + v] = A[by * BM + (s * threads + tx) * wide // BK, k * BK + (s * threads + tx) * wide % BK + v]
                for s in T.serial(B_steps):
                    for v in T.vectorized(wide):
                        Bs[(s * threads + tx) * wide // BN, (s * threads + tx) * wide % BN + v] = B[k * BK + (s * threads + tx) * wide // BN, bx * BN + (s * threads + tx) * wide % BN + v]
                for kk in T.serial(BK // depth):
                    if A_transposed:
                        for p in T.serial(row_parts):
                            for i in T.vectorized(tm):
                                a[p * tm + i, 0] = As[kk, p * (BM // row_parts) + tx // columns * tm + i]
                    else:
                        for i in T.serial(TM):
                            for v in T.vectorized(depth):
                                a[i, v] = As[tx // columns * TM + i, kk * depth + v]
                    for v in T.serial(depth):
                        for p in T.serial(column_parts):
                            for j in T.vectorized(tn):
                                b[p * tn + j] = Bs[kk * depth + v, p * (BN // column_parts) + tx % columns * tn + j]
                        for i in T.serial(TM):
                            for j in T.serial(TN):
                                acc[i, j] = acc[i, j] + a[i, v] * b[j]
            for i in T.serial(TM):
                for j in T.vectorized(TN):
                    C[by * BM + tx // columns * TM + i, bx * BN + tx % columns * TN + j] = acc[i, j]

    return main


main = sgemm(M=4096, N=4096, K=4096)

# %% schedule
sch = tilewright.Schedule(main)
sch.annotate("As", "engine", "lanes")
sch.annotate("Bs", "engine", "lanes")
