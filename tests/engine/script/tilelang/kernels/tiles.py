import tilelang
import tilelang.language as T


@tilelang.jit
def ordered(A, blocks=3, tile=16, group=2):
    M, N = T.const("M, N")
    A: T.Tensor((M, N), T.float32)
    B = T.empty((M, N), T.float32)
    with T.Kernel(blocks, threads=128) as block:
        part = T.alloc_shared((tile, tile), T.float32)
        for i, j in T.Persistent([T.ceildiv(M, tile), T.ceildiv(N, tile)], blocks, block, group):
            T.copy(A[i * tile, j * tile], part)
            T.copy(part, B[i * tile, j * tile])
    return B


@tilelang.jit
def patches(image, kernel, S, D, P, block_M=16, block_N=16, block_K=16):
    N, C, H, W, F, K = T.const("N, C, H, W, F, K")
    OH = (H + 2 * P - D * (K - 1) - 1) // S + 1
    OW = (W + 2 * P - D * (K - 1) - 1) // S + 1
    image: T.Tensor((N, H, W, C), T.float32)
    kernel: T.Tensor((K, K, C, F), T.float32)
    out = T.empty((N, OH, OW, F), T.float32)
    with T.Kernel(T.ceildiv(F, block_N), T.ceildiv(N * OH * OW, block_M), threads=128) as (bx, by):
        rows = T.alloc_shared((block_M, block_K), T.float32)
        columns = T.alloc_shared((block_K, block_N), T.float32)
        total = T.alloc_fragment((block_M, block_N), T.float32)
        flat = T.Tensor((K * K * C, F), T.float32, kernel.data)
        result = T.Tensor((N * OH * OW, F), T.float32, out.data)
        T.clear(total)
        for k in T.Pipelined(T.ceildiv(K * K * C, block_K), num_stages=2):
            T.im2col(image, rows, by, k, K, S, D, P)
            T.copy(flat[k * block_K, bx * block_N], columns)
            T.gemm(rows, columns, total)
        T.copy(total, result[by * block_M, bx * block_N])
    return out


@tilelang.jit
def scheduled(A, workers=3, tile=16, panel=2, by_columns=True):
    M, N = T.const("M, N")
    A: T.Tensor((M, N), T.float32)
    B = T.empty((M, N), T.float32)
    with T.Kernel(workers, threads=128) as block:
        part = T.alloc_shared((tile, tile), T.float32)
        tiles = T.PersistentTileScheduler(
            T.ceildiv(M, tile), T.ceildiv(N, tile), num_workers=workers, swizzle_size=panel, column_major=by_columns
        )
        tiles.init(block)
        while tiles.valid():
            i, j = tiles.m_idx, tiles.n_idx
            T.copy(A[i * tile, j * tile], part)
            T.copy(part, B[i * tile, j * tile])
            tiles.next_tile()
    return B
