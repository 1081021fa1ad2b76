# %% machine
import tilewright

machine = tilewright.machine("ascend-910b-24")

# %% workload
import tilelang
import tilelang.language as T


@tilelang.jit(out_idx=[-1])
def gemm(M, N, K, block_M=128, block_N=256, block_K=64, K_L1=256, cores_M=4, cores_N=6, dtype="float16", accum_dtype="float"):
    m_num, n_num = M // block_M // cores_M, N // block_N // cores_N

    @T.prim_func
    def main(A: T.Tensor((M, K), dtype), B: T.Tensor((K, N), dtype), C: T.Tensor((M, N), accum_dtype)):
        with T.Kernel(cores_M * cores_N, is_npu=True) as (cid, _):
            A_L1 = T.alloc_L1((block_M, K_L1), dtype)
            B_L1 = T.alloc_L1((K_L1, block_N), dtype)
            A_L0 = T.alloc_L0A((block_M, block_K), dtype)
            B_L0 = T.alloc_L0B((block_K, block_N), dtype)
            C_L0 = T.alloc_L0C((block_M, block_N), accum_dtype)
            with T.Scope("C"):
                for i in T.serial(m_num):
                    for j in T.serial(n_num):
                        for k in T.Pipelined(K // K_L1, num_stages=2):
                            T.copy(A[(cid % cores_M * m_num + i) * block_M, k * K_L1], A_L1)
                            T.copy(B[k * K_L1, (cid // cores_M * n_num + j) * block_N], B_L1)
                            for kk in T.serial(K_L1 // block_K):
                                T.copy(A_L1[0, kk * block_K], A_L0)
                                T.copy(B_L1[kk * block_K, 0], B_L0)
                                T.mma(A_L0, B_L0, C_L0, init=T.And(k == 0, kk == 0))
                        T.copy(C_L0, C[(cid % cores_M * m_num + i) * block_M, (cid // cores_M * n_num + j) * block_N])

    return main


main = gemm(M=6144, N=6144, K=6144)

# %% schedule
sch = tilewright.Schedule(main)
sch.double_buffer("A_L0_copy")
sch.double_buffer("B_L0_copy")
