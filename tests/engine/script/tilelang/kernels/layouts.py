import tilelang
import tilelang.language as T


@tilelang.jit(out_idx=[-1])
def product(M=256, N=256, K=256, block_M=128, block_N=128, block_K=32, turned=False, dtype="float16", policy=0):
    accum = "int32" if dtype == "int8" else "float64" if dtype == "float64" else "float32"
    B_shape = (N, K) if turned else (K, N)
    B_tile = (block_N, block_K) if turned else (block_K, block_N)

    @T.prim_func
    def main(A: T.Tensor((M, K), dtype), B: T.Tensor(B_shape, dtype), C: T.Tensor((M, N), accum)):
        with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=128) as (bx, by):
            A_shared = T.alloc_shared((block_M, block_K), dtype)
            B_shared = T.alloc_shared(B_tile, dtype)
            C_local = T.alloc_fragment((block_M, block_N), accum)
            C_shared = T.alloc_shared((block_M, block_N), accum)
            T.clear(C_local)
            for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=2):
                T.copy(A[by * block_M, k * block_K], A_shared)
                if turned:
                    T.copy(B[bx * block_N, k * block_K], B_shared)
                else:
                    T.copy(B[k * block_K, bx * block_N], B_shared)
                if policy == 1:
                    T.gemm(A_shared, B_shared, C_local, transpose_B=turned, policy=T.GemmWarpPolicy.FullRow)
                elif policy == 2:
                    T.gemm(A_shared, B_shared, C_local, transpose_B=turned, policy=T.GemmWarpPolicy.FullCol)
                else:
                    T.gemm(A_shared, B_shared, C_local, transpose_B=turned)
            T.copy(C_local, C_shared)
            T.copy(C_shared, C[by * block_M, bx * block_N])

    return main


@tilelang.jit(out_idx=[-1])
def transposed(M=128, N=128, block=64, layout="none", dtype=T.float16):
    @T.prim_func
    def main(A: T.Tensor((M, N), dtype), B: T.Tensor((N, M), dtype)):
        with T.Kernel(T.ceildiv(N, block), T.ceildiv(M, block), threads=128) as (bx, by):
            tile = T.alloc_shared((block, block), dtype)
            turned = T.alloc_shared((block, block), dtype)
            if layout == "swizzled":
                T.annotate_layout({tile: tilelang.layout.make_swizzled_layout(tile)})
            if layout == "linear":
                T.annotate_layout({turned: tilelang.layout.make_linear_layout(turned)})
            T.copy(A[by * block, bx * block], tile)
            for i, j in T.Parallel(block, block):
                turned[i, j] = tile[j, i]
            T.copy(turned, B[bx * block, by * block])

    return main
