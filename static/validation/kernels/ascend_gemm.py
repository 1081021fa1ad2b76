# %% machine
import tilewright

machine = tilewright.machine("ascend-910b-24")

# %% workload
import tilelang
import tilelang.language as T


@tilelang.jit(out_idx=[-1])
def gemm(M, N, K, block_M=128, block_N=256, block_K=64, K_L1=256, num_stages=2, out_dtype="float16", dtype="float16", accum_dtype="float"):
    m_num, n_num = M // block_M, N // block_N

    @T.prim_func
    def main(A: T.Tensor((M, K), dtype), B: T.Tensor((K, N), dtype), C: T.Tensor((M, N), out_dtype)):
        with T.Kernel(m_num * n_num, is_npu=True) as (cid, _):
            bx = cid // n_num
            by = cid % n_num
            A_L1 = T.alloc_L1((block_M, K_L1), dtype)
            B_L1 = T.alloc_L1((K_L1, block_N), dtype)
            A_L0 = T.alloc_L0A((block_M, block_K), dtype)
            B_L0 = T.alloc_L0B((block_K, block_N), dtype)
            C_L0 = T.alloc_L0C((block_M, block_N), accum_dtype)
            with T.Scope("C"):
                for k in T.Pipelined(K // K_L1, num_stages=num_stages):
                    T.copy(A[bx * block_M, k * K_L1], A_L1)
                    T.copy(B[k * K_L1, by * block_N], B_L1)
                    for kk in T.serial(K_L1 // block_K):
                        T.copy(A_L1[0, kk * block_K], A_L0)
                        T.copy(B_L1[kk * block_K, 0], B_L0)
                        T.mma(A_L0, B_L0, C_L0, init=T.And(k == 0, kk == 0))
                T.copy(C_L0, C[bx * block_M, by * block_N])

    return main


main = gemm(M=2048, N=2048, K=1024)

# %% schedule
sch = tilewright.Schedule(main)
