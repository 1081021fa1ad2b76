import tilelang
import tilelang.language as T


@tilelang.jit(out_idx=[-1])
def product(M, N, K, block_M=32, block_N=32, block_K=16, turned=False, off=0, dtype="float16", accum_dtype="float"):
    m_num = T.ceildiv(M, block_M)
    n_num = T.ceildiv(N, block_N)

    @T.prim_func
    def main(A: T.Tensor((M, K), dtype), B: T.Tensor((N, K) if turned else (K, N), dtype), C: T.Tensor((M, N), dtype)):
        with T.Kernel(m_num * n_num, is_npu=True) as (cid, _):
            tile = T.use_swizzle(cid, M, N, K, block_M, block_N, off=off) if off else cid
            bx = tile // n_num
            by = tile % n_num
            A_L1 = T.alloc_L1((block_M, block_K), dtype)
            B_L1 = T.alloc_shared((block_N, block_K) if turned else (block_K, block_N), dtype)
            C_L0 = T.alloc_L0C((block_M, block_N), accum_dtype)
            with T.Scope("C"):
                for k in T.serial(T.ceildiv(K, block_K)):
                    T.copy(A[bx * block_M, k * block_K], A_L1)
                    if turned:
                        T.copy(B[by * block_N, k * block_K], B_L1)
                    else:
                        T.copy(B[k * block_K, by * block_N], B_L1)
                    T.set_flag("mte2", "mte1", 0)
                    T.wait_flag("mte2", "mte1", 0)
                    T.gemm_v0(A_L1, B_L1, C_L0, transpose_B=turned, init=(k == 0))
                    T.barrier_all()
                T.copy(C_L0, C[bx * block_M, by * block_N], enable_relu=True)

    return main
