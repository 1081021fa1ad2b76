#define N 64
#ifdef IKJ
void __tvm_ffi_main(float *restrict A, float *restrict B, float *restrict C) {
  for (int i = 0; i < N; i++)
    for (int k = 0; k < N; k++)
      for (int j = 0; j < N; j++)
        C[i * N + j] += A[i * N + k] * B[k * N + j];
}
#endif
#ifdef IJK
void __tvm_ffi_main(float *restrict A, float *restrict B, float *restrict C) {
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) {
      for (int k = 0; k < N; k++)
        C[i * N + j] += A[i * N + k] * B[k * N + j];
    }
}
#endif
#ifdef REG
void __tvm_ffi_main(float *restrict A, float *restrict B, float *restrict C) {
  for (int i = 0; i < N; i += 4)
    for (int j = 0; j < N; j += 16) {
      float s[4][16];
      for (int a = 0; a < 4; a++) for (int b = 0; b < 16; b++) s[a][b] = 0;
      for (int k = 0; k < N; k++)
        for (int a = 0; a < 4; a++)
          for (int b = 0; b < 16; b++) s[a][b] += A[(i + a) * N + k] * B[k * N + j + b];
      for (int a = 0; a < 4; a++) for (int b = 0; b < 16; b++) C[(i + a) * N + j + b] = s[a][b];
    }
}
#endif
