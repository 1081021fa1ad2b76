import tilelang
import tilelang.language as T


@tilelang.jit
def norm(X, eps, block_M, dtype: T.dtype = T.float32):
    M, N = T.const("M, N")
    X: T.Tensor((M, N), dtype)
    Y = T.empty((M, N), dtype)
    with T.Kernel(T.ceildiv(M, block_M), threads=128) as bx:
        rows = T.alloc_fragment((block_M, N), dtype)
        squares = T.alloc_fragment((block_M, N), dtype)
        total = T.alloc_fragment((block_M,), dtype)
        T.copy(X[bx * block_M, 0], rows)
        for i, j in T.Parallel(block_M, N):
            squares[i, j] = rows[i, j] * rows[i, j]
        T.reduce_sum(squares, total, dim=1)
        for i in T.Parallel(block_M):
            total[i] = T.rsqrt(total[i] / N + eps)
        for i, j in T.Parallel(block_M, N):
            rows[i, j] *= total[i]
        T.copy(rows, Y[bx * block_M, 0])
    return Y


if __name__ == "__main__":
    norm.compile(M=40, N=24, eps=1e-5, block_M=16)
