// Kernels of bench/gpu.py. Macros give their parameters; NVRTC compiles each set on the device's computer.
// One kernel is chosen by KERNEL_...; `out` keeps results alive.

#ifdef KERNEL_EMPTY
extern "C" __global__ void kernel(float *out, const float *in, int n) {}
#endif

#ifdef KERNEL_CHASE  // dependent loads through a cycle of indices, one thread
extern "C" __global__ void kernel(float *out, const float *in, int n) {
  const unsigned *next = (const unsigned *)in;
  unsigned at = 0;
  for (int i = 0; i < STEPS; i++) at = __ldcg(next + at);
  out[0] = at;
}
#endif

#ifdef KERNEL_FMA  // independent multiply-adds
extern "C" __global__ void kernel(float *out, const float *in, int n) {
  float a[8], x = in[0];
  for (int k = 0; k < 8; k++) a[k] = x + k;
  for (int i = 0; i < STEPS; i++)
#pragma unroll
    for (int k = 0; k < 8; k++) a[k] = a[k] * x + x;
  float s = 0;
  for (int k = 0; k < 8; k++) s += a[k];
  out[blockIdx.x * blockDim.x + threadIdx.x] = s;
}
#endif

#ifdef KERNEL_READ  // all blocks read n floats, several times if they fit into a cache
extern "C" __global__ void kernel(float *out, const float *in, int n) {
  const float4 *from = (const float4 *)in;
  float s = 0;
  for (int r = 0; r < ROUNDS; r++)
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n / 4; i += gridDim.x * blockDim.x) {
      float4 v = __ldcg(from + i);
      s += v.x + v.y + v.z + v.w;
    }
  if (s == 0.1234f) out[0] = s;
}
#endif

#ifdef KERNEL_STREAM  // one load per thread and step: latency hiding by threads alone
extern "C" __global__ void kernel(float *out, const float *in, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) out[i] = in[i] * 2.0f;
}
#endif

#ifdef KERNEL_SHARED  // reads of WIDTH floats whose lanes are STEP * WIDTH floats apart; STEP 0 is one address
// An address is a register and an offset, and a load has at most WIDTH additions, so that the banks are the limit.
#if WIDTH == 1
typedef float word;
#define SUM a
#define LOAD(at) asm volatile("ld.volatile.shared.f32 %0, [%1];" : "=f"(a) : "r"(at))
#elif WIDTH == 2
typedef float2 word;
#define SUM (a + b)
#define LOAD(at) asm volatile("ld.volatile.shared.v2.f32 {%0, %1}, [%2];" : "=f"(a), "=f"(b) : "r"(at))
#else
typedef float4 word;
#define SUM (a + b + c + d)
#define LOAD(at) asm volatile("ld.volatile.shared.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(a), "=f"(b), "=f"(c), "=f"(d) : "r"(at))
#endif
extern "C" __global__ void kernel(float *out, const float *in, int n) {
  __shared__ word words[SHARED_WORDS];
  for (int i = threadIdx.x; i < SHARED_WORDS; i += blockDim.x) words[i] = word();
  __syncthreads();
  float s = 0, a = 0, b = 0, c = 0, d = 0;
  unsigned lane = threadIdx.x % 32, first = (unsigned)__cvta_generic_to_shared(words);
  for (int r = 0; r < STEPS; r++) {
#pragma unroll
    for (int k = 0; k < 8; k++) {
      LOAD(first + (lane * STEP + (r & 1) + k) * (unsigned)sizeof(word));
      s += SUM;
    }
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = s;
}
#endif

#ifdef KERNEL_TRANSPOSE  // tiles of 32 x 32: PAD floats after each row, or places exchanged by SWIZZLE
extern "C" __global__ void kernel(float *out, const float *in, int n) {
  __shared__ float tile[32][32 + PAD];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) {
    int row = threadIdx.y + j;
    tile[row][SWIZZLE ? threadIdx.x ^ row : threadIdx.x] = in[(y + j) * n + x];
  }
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) {
    int column = threadIdx.y + j;
    out[(y + j) * n + x] = tile[threadIdx.x][SWIZZLE ? column ^ threadIdx.x : column];
  }
}
#endif

#ifdef KERNEL_GEMM  // C = A B, fp32, n x n x n: tiles of TILE x TILE x DEPTH in STAGES slots filled by cp.async, 8 x 8 sums per thread
#define THREADS (TILE * TILE / 64)
__device__ __forceinline__ void copy16(float *to, const float *from) {
  unsigned at = (unsigned)__cvta_generic_to_shared(to);
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(from));
}
extern "C" __global__ void __launch_bounds__(THREADS) kernel(float *out, const float *in, int n) {
  extern __shared__ float slots[];
  const float *A = in, *B = in + (size_t)n * n;
  float *As = slots, *Bs = slots + STAGES * TILE * DEPTH;
  int tiles = n / TILE, block = blockIdx.x, bm = block / tiles, bn = block % tiles;
  if (GROUP) {
    int group = block / (GROUP * tiles), inside = block % (GROUP * tiles);
    bm = group * GROUP + inside % GROUP, bn = inside / GROUP;
  }
  int ty = threadIdx.x / (TILE / 8), tx = threadIdx.x % (TILE / 8);
  float sums[8][8] = {};
  int steps = n / DEPTH;
  auto load = [&](int step) {
    float *a = As + step % STAGES * TILE * DEPTH, *b = Bs + step % STAGES * TILE * DEPTH;
    for (int i = threadIdx.x * 4; i < TILE * DEPTH; i += THREADS * 4) {
      copy16(a + i, A + (size_t)(bm * TILE + i / DEPTH) * n + step * DEPTH + i % DEPTH);
      copy16(b + i, B + (size_t)(step * DEPTH + i / TILE) * n + bn * TILE + i % TILE);
    }
  };
  for (int s = 0; s < STAGES - 1; s++) {
    if (s < steps) load(s);
    asm volatile("cp.async.commit_group;");
  }
  for (int step = 0; step < steps; step++) {
    if (step + STAGES - 1 < steps) load(step + STAGES - 1);
    asm volatile("cp.async.commit_group;");
    asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 1));
    __syncthreads();
    const float *a = As + step % STAGES * TILE * DEPTH, *b = Bs + step % STAGES * TILE * DEPTH;
    for (int k = 0; k < DEPTH; k++) {
      float left[8], right[8];
#pragma unroll
      for (int i = 0; i < 8; i++) left[i] = a[(ty * 8 + i) * DEPTH + k];
#pragma unroll
      for (int j = 0; j < 8; j++) right[j] = b[k * TILE + tx * 8 + j];
#pragma unroll
      for (int i = 0; i < 8; i++)
#pragma unroll
        for (int j = 0; j < 8; j++) sums[i][j] += left[i] * right[j];
    }
    __syncthreads();
  }
  for (int i = 0; i < 8; i++)
    for (int j = 0; j < 8; j++) out[(size_t)(bm * TILE + ty * 8 + i) * n + bn * TILE + tx * 8 + j] = sums[i][j];
}
#endif
