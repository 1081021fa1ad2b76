// Microbenchmarks of one processor core: `cpu KERNEL BYTES SAMPLES` prints nanoseconds of processor time for each operation, one sample a line.
// An operation is a load, an instruction, or for bandwidths a byte; `tilewright calibrate` compiles and runs it.
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifndef VECTOR_BYTES
#define VECTOR_BYTES 32
#endif
typedef float vf __attribute__((vector_size(VECTOR_BYTES)));
typedef double vd __attribute__((vector_size(VECTOR_BYTES)));
typedef int32_t vi __attribute__((vector_size(VECTOR_BYTES)));
typedef int16_t vs __attribute__((vector_size(VECTOR_BYTES)));

#define LINE 64
#define PAGE 4096
#define SAMPLE_NS 2000000.0
#define HIDE(x) __asm__ volatile("" : "+x"(x))
#define HIDE_INT(x) __asm__ volatile("" : "+r"(x))
#define FENCE() __asm__ volatile("" ::: "memory")

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec * 1e9 + t.tv_nsec;
}

static char *memory;
static size_t size;
static volatile uint64_t sink;

// --- memory. Each returns the operations of one call.

static size_t steps;
static void **place;

static uint64_t random_state = 88172645463325252ull;
static uint64_t random_number(void) {
  random_state ^= random_state << 13, random_state ^= random_state >> 7, random_state ^= random_state << 17;
  return random_state;
}

// A cycle through elements `apart` bytes from each other in random order; with `stagger` each in another line of its page.
static void make_chain(size_t apart, int stagger) {
  size_t count = size / apart, i;
  if (count < 2) count = 2;
  uint32_t *order = malloc(count * sizeof *order);
  for (i = 0; i < count; i++) order[i] = i;
  for (i = count - 1; i > 0; i--) {
    size_t j = random_number() % (i + 1);
    uint32_t held = order[i];
    order[i] = order[j], order[j] = held;
  }
#define AT(n) (memory + (size_t)(n) * apart + (stagger ? (n) * LINE % PAGE : 0))
  for (i = 0; i < count; i++) *(void **)AT(order[i]) = AT(order[(i + 1) % count]);
  place = (void **)AT(order[0]);
  free(order);
  steps = count < 4096 ? 4096 : count;
  if (steps > 1 << 20) steps = 1 << 20;
}

static double chase(void) {
  void **p = place;
  for (size_t i = 0; i < steps; i++) p = *p;
  sink += (uintptr_t)p, place = p;
  return steps;
}

static double read_bytes(void) {
  vf a = {0}, b = a, c = a, d = a, e = a, f = a, g = a, h = a;
  const vf *p = (vf *)memory, *end = (vf *)(memory + size);
  for (; p + 8 <= end; p += 8) a += p[0], b += p[1], c += p[2], d += p[3], e += p[4], f += p[5], g += p[6], h += p[7];
  a += b + c + d + e + f + g + h;
  HIDE(a);
  return size;
}

static double write_bytes(void) {
  vf a = {0};
  HIDE(a);
  vf *p = (vf *)memory, *end = (vf *)(memory + size);
  for (; p + 4 <= end; p += 4) p[0] = a, p[1] = a, p[2] = a, p[3] = a;
  FENCE();
  return size;
}

static double copy_bytes(void) {
  size_t half = size / 2;
  vf *from = (vf *)memory, *to = (vf *)(memory + half), *end = (vf *)(memory + half);
  for (; from + 4 <= end; from += 4, to += 4) {
    vf a = from[0], b = from[1], c = from[2], d = from[3];
    to[0] = a, to[1] = b, to[2] = c, to[3] = d;
  }
  FENCE();
  return half;
}

static double forward(void) {
  volatile uint64_t *p = (uint64_t *)memory;
  for (int i = 0; i < 4096; i++) p[0] = p[0] + 1;
  return 4096;
}

// --- instructions

#define TIMES 1024
#define CHAIN(NAME, TYPE, HIDDEN, EXPR)                \
  static double NAME(void) {                           \
    TYPE x = {0}, y = {0};                             \
    HIDDEN(x);                                         \
    HIDDEN(y);                                         \
    for (int i = 0; i < TIMES; i++) {                  \
      EXPR(x);                                         \
      HIDDEN(x);                                       \
    }                                                  \
    return TIMES;                                      \
  }
#define MANY(NAME, TYPE, HIDDEN, EXPR)                                                                   \
  static double NAME(void) {                                                                             \
    TYPE y = {0}, a = {0}, b = {0}, c = {0}, d = {0}, e = {0}, f = {0}, g = {0}, h = {0}, k = {0}, l = {0}; \
    HIDDEN(y);                                                                                           \
    HIDDEN(a); HIDDEN(b); HIDDEN(c); HIDDEN(d); HIDDEN(e); HIDDEN(f); HIDDEN(g); HIDDEN(h); HIDDEN(k); HIDDEN(l); \
    for (int i = 0; i < TIMES / 8; i++) {                                                                \
      EXPR(a); EXPR(b); EXPR(c); EXPR(d); EXPR(e); EXPR(f); EXPR(g); EXPR(h); EXPR(k); EXPR(l);              \
      HIDDEN(a); HIDDEN(b); HIDDEN(c); HIDDEN(d); HIDDEN(e); HIDDEN(f); HIDDEN(g); HIDDEN(h); HIDDEN(k); HIDDEN(l); \
    }                                                                                                    \
    return TIMES / 8 * 10;                                                                               \
  }
#define ADD(v) v = v + y
#define FMA(v) v = v * y + y
#define MUL(v) v = v * y
#define DIV(v) v = v / y

static double int_add_chain(void) {
  uint64_t x = sink, y = 1;
  HIDE_INT(y);
  for (int i = 0; i < TIMES; i++) {
    x += y; HIDE_INT(x); x += y; HIDE_INT(x); x += y; HIDE_INT(x); x += y; HIDE_INT(x);
    x += y; HIDE_INT(x); x += y; HIDE_INT(x); x += y; HIDE_INT(x); x += y; HIDE_INT(x);
  }
  sink = x;
  return 8 * TIMES;
}

static double int_add_many(void) {
  uint64_t a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, y = 1;
  HIDE_INT(y);
  for (int i = 0; i < TIMES; i++) {
    a += y; b += y; c += y; d += y; e += y; f += y;
    HIDE_INT(a); HIDE_INT(b); HIDE_INT(c); HIDE_INT(d); HIDE_INT(e); HIDE_INT(f);
    a += y; b += y; c += y; d += y; e += y; f += y;
    HIDE_INT(a); HIDE_INT(b); HIDE_INT(c); HIDE_INT(d); HIDE_INT(e); HIDE_INT(f);
  }
  sink += a + b + c + d + e + f;
  return 12 * TIMES;
}

CHAIN(f32_add_chain, vf, HIDE, ADD)
CHAIN(f32_fma_chain, vf, HIDE, FMA)
MANY(f32_add_many, vf, HIDE, ADD)
MANY(f32_fma_many, vf, HIDE, FMA)
MANY(f64_fma_many, vd, HIDE, FMA)
MANY(i32_mul_many, vi, HIDE, MUL)
MANY(i16_mul_many, vs, HIDE, MUL)
MANY(f32_div_many, vf, HIDE, DIV)

#define SQRT(v) v = __builtin_sqrtf(v)
static double f32_sqrt_many(void) {
  float a = 2, b = 3, c = 4, d = 5;
  for (int i = 0; i < TIMES / 4; i++) {
    HIDE(a); HIDE(b); HIDE(c); HIDE(d);
    SQRT(a); SQRT(b); SQRT(c); SQRT(d);
    HIDE(a); HIDE(b); HIDE(c); HIDE(d);
  }
  return TIMES;
}

static double i32_to_f32_many(void) {
  vi x = {0};
  for (int i = 0; i < TIMES; i++) {
    HIDE(x);
    vf y = __builtin_convertvector(x, vf);
    HIDE(y);
  }
  return TIMES;
}

static double exp_calls(void) {
  float x = 0.5f;
  for (int i = 0; i < TIMES; i++) {
    float y = x;
    HIDE(y);
    y = expf(y);
    HIDE(y);
  }
  return TIMES;
}

#define KERNEL(name, chain_apart, stagger) {#name, name, chain_apart, stagger}
static const struct { const char *name; double (*run)(void); size_t apart; int stagger; } kernels[] = {
    {"latency", chase, LINE, 0}, {"pages", chase, PAGE, 1},
    KERNEL(read_bytes, 0, 0), KERNEL(write_bytes, 0, 0), KERNEL(copy_bytes, 0, 0), KERNEL(forward, 0, 0),
    KERNEL(int_add_chain, 0, 0), KERNEL(int_add_many, 0, 0), KERNEL(f32_add_chain, 0, 0), KERNEL(f32_fma_chain, 0, 0),
    KERNEL(f32_add_many, 0, 0), KERNEL(f32_fma_many, 0, 0), KERNEL(f64_fma_many, 0, 0), KERNEL(i32_mul_many, 0, 0),
    KERNEL(i16_mul_many, 0, 0), KERNEL(f32_div_many, 0, 0), KERNEL(f32_sqrt_many, 0, 0), KERNEL(i32_to_f32_many, 0, 0),
    KERNEL(exp_calls, 0, 0),
};

int main(int count, char **given) {
  if (count != 4) return 2;
  size = strtoull(given[2], 0, 10);
  int samples = atoi(given[3]);
  for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
    if (strcmp(kernels[k].name, given[1])) continue;
    if (posix_memalign((void **)&memory, 2 << 20, size + PAGE)) return 3;
    memset(memory, 0, size + PAGE);
    if (kernels[k].apart) make_chain(kernels[k].apart, kernels[k].stagger);
    kernels[k].run();
    double began = now(), operations = kernels[k].run(), taken = now() - began;
    long calls = taken > 0 ? (long)(SAMPLE_NS / taken) + 1 : 1000;
    for (int s = 0; s < samples; s++) {
      double start = now();
      for (long i = 0; i < calls; i++) kernels[k].run();
      printf("%.6f\n", (now() - start) / calls / operations);
    }
    return 0;
  }
  return 4;
}
