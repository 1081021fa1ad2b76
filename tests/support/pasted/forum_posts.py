"""Pasted posts in the style of forums, issues, READMEs, mails and chat answers. `POSTS` has the calls of each schedule."""

# ruff: noqa: E501, RUF001

POSTS: dict[str, tuple[str, str]] = {
    "an IPython session": (
        """\
Why does my inner loop not vectorize?

Hi all, I am new to TVM and trying this in IPython:

In [1]: import tvm
   ...: from tvm import te

In [2]: n = 1024
   ...: A = te.placeholder((n,), name='A')
   ...: B = te.compute((n,), lambda i: A[i] * 2.0, name='B')

In [3]: s = te.create_schedule(B.op)
   ...: xo, xi = s[B].split(B.op.axis[0], factor=32)
   ...: s[B].vectorize(xi)

In [4]: print(tvm.lower(s, [A, B], simple_mode=True))
Out[4]:
produce B {
  for (i.outer, 0, 32) {
    B[ramp((i.outer*32), 1, 32)] = (A[ramp((i.outer*32), 1, 32)]*x32(2f))
  }
}

Any ideas what I am doing wrong?
""",
        "split vectorize",
    ),
    "a Python session": (
        """\
I have a question about compute_at.

>>> import tvm
>>> from tvm import te
>>> A = te.placeholder((64, 64), name="A")
>>> B = te.compute((64, 64), lambda i, j: A[i, j] + 1.0, name="B")
>>> C = te.compute(
...     (64, 64),
...     lambda i, j: B[i, j] * 2.0,
...     name="C",
... )
>>> s = te.create_schedule(C.op)
>>> s[B].compute_at(s[C], C.op.axis[0])
>>> s
schedule(0x55d0c8)

It seems to ignore my request.
""",
        "compute_at",
    ),
    "a listing with line numbers": (
        """\
Listing 3 from the blog:

 1  import tvm
 2  from tvm import te
 3
 4  n = te.var("n")
 5  A = te.placeholder((n,), name="A")
 6  B = te.compute(A.shape, lambda i: A[i] + 1, name="B")
 7  s = te.create_schedule(B.op)
 8  bx, tx = s[B].split(B.op.axis[0], factor=64)
 9  s[B].bind(bx, te.thread_axis("blockIdx.x"))
10  s[B].bind(tx, te.thread_axis("threadIdx.x"))

The numbers come from the pdf, sorry.
""",
        "split bind bind",
    ),
    "line numbers with colons": (
        """\
Here is the code with line numbers.

1: import tvm
2: from tvm import te
3: A = te.placeholder((16, 16), name="A")
4: def twice(i, j):
5:     return A[i, j] * 2
6: B = te.compute((16, 16), twice, name="B")
7: s = te.create_schedule(B.op)
8: s[B].unroll(B.op.axis[1])

What does line 8 do?
""",
        "unroll",
    ),
    "HTML entities in a fence": (
        """\
How to tile a matmul?

This is copied from a web page:

```python
import tvm
from tvm import te
A = te.placeholder((64, 64), name=&quot;A&quot;)
B = te.compute((64, 64), lambda i, j: te.if_then_else(te.all(i &gt; 0, j &lt; 63), A[i, j], 0.0), name=&#39;B&#39;)
s = te.create_schedule(B.op)
xo, yo, xi, yi = s[B].tile(B.op.axis[0], B.op.axis[1], 8, 8)
```

Thanks &amp; regards
""",
        "split split reorder",
    ),
    "HTML entities without fences": (
        """\
How to tile a matmul? The escaped page says

import tvm
from tvm import te
A = te.placeholder((64, 64), name=&quot;A&quot;)
B = te.compute((64, 64), lambda i, j: te.if_then_else(i &gt; 0, A[i, j], 0.0), name=&#39;B&#39;)
s = te.create_schedule(B.op)
xo, yo, xi, yi = s[B].tile(B.op.axis[0], B.op.axis[1], 8, 8)

It&#39;s odd.
""",
        "split split reorder",
    ),
    "TVMScript without indentation": (
        """\
Question about cache_read in TensorIR

Hello, I’m trying to use shared memory. My module is

@tvm.script.ir_module
class MyModule:
@T.prim_func
def main(A: T.Buffer[(128, 128), "float32"], B: T.Buffer[(128, 128), "float32"]):
for i, j in T.grid(128, 128):
with T.block("B"):
vi, vj = T.axis.remap("SS", [i, j])
B[vi, vj] = A[vi, vj] * 2.0

and the schedule:

sch = tvm.tir.Schedule(MyModule)
block = sch.get_block("B")
i, j = sch.get_loops(block)
i0, i1 = sch.split(i, factors=[None, 16])
A_shared = sch.cache_read(block, 0, “shared”)
sch.compute_at(A_shared, i0)

Is this right?
""",
        "split cache_read compute_at",
    ),
    "an issue with a script": (
        """\
**Describe the bug**

```python
import tvm
from tvm.script import tir as T

@T.prim_func
def func(a: T.handle, b: T.handle) -> None:
    A = T.match_buffer(a, [64, 64])
    B = T.match_buffer(b, [64, 64])
    for i, j in T.grid(64, 64):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + T.float32(1)

def schedule():
    sch = tvm.tir.Schedule(func)
    for loop in sch.get_loops(sch.get_block("B")):
        sch.split(loop, factors=[None, 8])
    return sch

if __name__ == "__main__":
    sch = schedule()
    print(sch.mod.script())
```

**Expected behavior**

It should give 4 loops:

```
for i_0, i_1, j_0, j_1 in T.grid(8, 8, 8, 8):
```

**Environment** TVM main, Ubuntu 20.04
""",
        "split split",
    ),
    "a chat answer in steps": (
        """\
Sure! Here's how you can tile it:

1. **Define the computation**

   ```python
   import tvm
   from tvm import te

   M = N = K = 256
   A = te.placeholder((M, K), name="A")
   B = te.placeholder((K, N), name="B")
   k = te.reduce_axis((0, K), name="k")
   C = te.compute((M, N), lambda m, n: te.sum(A[m, k] * B[k, n], axis=k), name="C")
   ```

2. **Create the schedule**

   ```python
   s = te.create_schedule(C.op)
   mo, no, mi, ni = s[C].tile(C.op.axis[0], C.op.axis[1], 32, 32)
   ```

3. **Reorder** – the reduction goes outside:

   ```python
   s[C].reorder(mo, no, k, mi, ni)   # k outside of the tile
   s[C].vectorize(ni)
   ```

That's it! Let me know if you have questions.
""",
        "split split reorder reorder vectorize",
    ),
    "Python with sentences in comments": (
        """\
# Hi, this is my attempt at a matmul for our NPU.
# The question is at the bottom: why is A copied twice?
import tvm
from tvm import te

# sizes as in the paper
n = 128
A = te.placeholder((n, n), name="A")
B = te.compute((n, n), lambda i, j: A[i, j] * 2, name="B")
s = te.create_schedule(B.op)
AL = s.cache_read(A, "local", [B])
s[AL].compute_at(s[B], B.op.axis[0])
# What I expected: one copy per row.
# What I see: nothing at all!
""",
        "cache_read compute_at",
    ),
    "a diff beside the code": (
        """\
The change that fixed it for me:

```diff
-s[B].vectorize(xi)
+s[B].unroll(xi)
```

on this program

```python
A = te.placeholder((64,), name="A")
B = te.compute((64,), lambda i: A[i] * 2, name="B")
s = te.create_schedule(B.op)
xo, xi = s[B].split(B.op.axis[0], factor=8)
s[B].unroll(xi)
```
""",
        "split unroll",
    ),
    "a quoted fence": (
        """\
@alice wrote:

> I use this:
>
> ```python
> A = te.placeholder((64,), name="A")
> B = te.compute((64,), lambda i: A[i] * 2, name="B")
> s = te.create_schedule(B.op)
> s[B].parallel(B.op.axis[0])
> ```

That looks right to me, you only need a bigger loop.
""",
        "parallel",
    ),
    "quoted mail": (
        """\
On Tue, Alice wrote:
> I use this code:
> A = te.placeholder((64,), name="A")
> B = te.compute((64,), lambda i: A[i] * 2, name="B")
> s = te.create_schedule(B.op)
> s[B].parallel(B.op.axis[0])
> but it is slow.
You only need a bigger loop.
""",
        "parallel",
    ),
    "indented code": (
        """\
My code is below, please have a look at the split in it.

    import tvm
    from tvm import te
    A = te.placeholder((64,), name="A")
    B = te.compute((64,), lambda i: A[i] * 2, name="B")
    s = te.create_schedule(B.op)
    xo, xi = s[B].split(B.op.axis[0], factor=8)

And then it fails with:

    TVMError: Check failed: (x) is false
""",
        "split",
    ),
    "cells and their output": (
        """\
[12]:
import tvm
from tvm import te
A = te.placeholder((64,), name="A")
B = te.compute((64,), lambda i: A[i] * 2, name="B")
[13]:
s = te.create_schedule(B.op)
xo, xi = s[B].split(B.op.axis[0], factor=8)
s[B].parallel(xo)
print(tvm.lower(s, [A, B]))
primfn(A_1: handle, B_1: handle) -> ()
  attr = {"from_legacy_te_schedule": True}
  buffers = {B: Buffer(B_2: Pointer(float32), float32, [64], [])}
  buffer_map = {A_1: A, B_1: B} {
  for (i.outer: int32, 0, 8) "parallel" {
    B_2[i] = A_2[i]
  }
}

So parallel works in the notebook.
""",
        "split parallel",
    ),
    "an exported notebook": (
        """\
# ## Tiling
#
# We tile both axes and look at the result.
#
# (This was exported from a notebook.)

# In[3]:


import tvm
from tvm import te
A = te.placeholder((64, 64), name="A")
B = te.compute((64, 64), lambda i, j: A[i, j] * 2, name="B")


# In[4]:


s = te.create_schedule(B.op)
get_ipython().run_line_magic('matplotlib', 'inline')
s[B].tile(B.op.axis[0], B.op.axis[1], 8, 8)
""",
        "split split reorder",
    ),
    "magics": (
        """\
%matplotlib inline
!pip install apache-tvm
import tvm
from tvm import te
A = te.placeholder((64, 64), name="A")
B = te.compute((64, 64), lambda i, j: A[i, j] * 2, name="B")
s = te.create_schedule(B.op)
%timeit tvm.lower(s, [A, B])
s[B].tile(B.op.axis[0], B.op.axis[1], 8, 8)
""",
        "split split reorder",
    ),
    "code left out": (
        """\
We have something like this in our code base:

```python
A = te.placeholder((64, 64), name="A")
B = te.compute((64, 64), lambda i, j: A[i, j] * 2, name="B")
...
s = te.create_schedule(B.op)
# ... some more scheduling
s[B].parallel(B.op.axis[0])
```
""",
        "parallel",
    ),
    "a README": (
        """\
# mykernels

Schedules for our accelerator.

## Install

```bash
pip install mykernels
python -m mykernels --help
```

## Usage

First define the program:

```python
from tvm.script import tir as T

@T.prim_func
def add_one(A: T.Buffer((256,), "float32"), B: T.Buffer((256,), "float32")):
    for i in range(256):
        with T.block("B"):
            vi = T.axis.spatial(256, i)
            B[vi] = A[vi] + T.float32(1)
```

then schedule it:

```python
sch = tvm.tir.Schedule(add_one)
(i,) = sch.get_loops(sch.get_block("B"))
outer, inner = sch.split(i, factors=[None, 32])
sch.bind(outer, "blockIdx.x")
sch.bind(inner, "threadIdx.x")
```

| kernel | us |
|--------|----|
| add    | 3  |
""",
        "split bind bind",
    ),
    "an issue with details": (
        """\
### Expected behavior

`compute_at` should keep the split.

### Actual behavior

<details>
<summary>Full script</summary>

```py
import tvm
from tvm import te, tir

def build_matmul(n: int = 64, dtype: str = "float32"):
    a = te.placeholder((n, n), name="a", dtype=dtype)
    b = te.placeholder((n, n), name="b", dtype=dtype)
    k = te.reduce_axis((0, n), name="k")
    c = te.compute((n, n), lambda i, j: te.sum(a[i, k] * b[k, j], axis=[k]), name="c")
    d = te.compute((n, n), lambda i, j: te.max(c[i, j], te.const(0, dtype)), name="d")
    return te.create_prim_func([a, b, d])

sch = tir.Schedule(build_matmul(), debug_mask="all")
c, d = (sch.get_block(name) for name in "cd")
i, j = sch.get_loops(d)
io, ii = sch.split(i, [None, 8])
sch.compute_at(c, io)
sch.mod.show()
tvm.build(sch.mod, "llvm")
```

</details>

### Environment

Any environment details, such as: Operating System, TVM version, etc
""",
        "split compute_at",
    ),
    "a mail with tabs and CRLF": (
        "Hi,\r\n\r\nthis is what I run on the board, with tabs:\r\n\r\ndef get_schedule(n):\r\n\tA = te.placeholder((n,), name='A')\r\n\tB = te.compute((n,), lambda i: A[i] + 1, name='B')\r\n\ts = te.create_schedule(B.op)\r\n\ts[B].unroll(B.op.axis[0])\r\n\treturn s, [A, B]\r\n\r\ns, args = get_schedule(64)\r\nf = tvm.build(s, args, 'llvm')\r\n\r\nand it is correct, but slow as hell.\r\n",
        "unroll",
    ),
    "a program and its trace": (
        """\
Meta schedule found this for my workload:

```python
@T.prim_func
def main(A: T.Buffer((1024,), "float32"), B: T.Buffer((1024,), "float32")):
    for i in range(1024):
        with T.block("B"):
            v = T.axis.spatial(1024, i)
            B[v] = T.exp(A[v])
```

and the trace is

```
# from tvm import tir
def apply_trace(sch: tir.Schedule) -> None:
  b0 = sch.get_block(name="B", func_name="main")
  l1, = sch.get_loops(block=b0)
  v2, v3 = sch.sample_perfect_tile(loop=l1, n=2, max_innermost_factor=64, decision=[32, 32])
  l4, l5 = sch.split(loop=l1, factors=[v2, v3], preserve_unit_iters=True)
  sch.parallel(loop=l4)
  sch.vectorize(loop=l5)
  sch.enter_postproc()
```

What do these lines do?
""",
        "split parallel vectorize",
    ),
    "two versions of a program": (
        """\
I compare two versions here:

@T.prim_func
def version_a(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32")):
    for i, j in T.grid(64, 64):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + 1.0

@T.prim_func
def version_b(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32")):
    for i, j in T.grid(64, 64):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = 1.0 + A[vi, vj]

for func in (version_a, version_b):
    sch = tvm.tir.Schedule(func)
    sch.parallel(sch.get_loops("B")[0])

sch_a = tvm.tir.Schedule(version_a)
sch_a.vectorize(sch_a.get_loops(sch_a.get_block("B"))[-1])

Which one is faster for you?
""",
        "vectorize",
    ),
    "output between the lines": (
        """\
I start with

A = te.placeholder((8, 8), name="A")
B = te.compute((8, 8), lambda i, j: A[i, j] + 1.0, name="B")
s = te.create_schedule(B.op)
print(tvm.lower(s, [A, B], simple_mode=True))

which gives me

@main = primfn(A_1: handle, B_1: handle) -> ()
  attr = {"global_symbol": "main", "tir.noalias": True}
  buffers = {B: Buffer(B_2: Pointer(float32), float32, [8, 8], []),
             A: Buffer(A_2: Pointer(float32), float32, [8, 8], [])}
  buffer_map = {A_1: A, B_1: B} {
  for (i: int32, 0, 8) {
    for (j: int32, 0, 8) {
      B_2[((i*8) + j)] = ((float32*)A_2[((i*8) + j)] + 1f32)
    }
  }
}

and after

s[B].fuse(*B.op.axis)

it is one loop. Great!
""",
        "fuse",
    ),
    "a function that computes": (
        """\
Re: conv2d schedule for my DSP

def conv2d(n, ci, h, w, co, kh, kw):
    data = te.placeholder((n, ci, h, w), name="data")
    kernel = te.placeholder((co, ci, kh, kw), name="kernel")
    rc = te.reduce_axis((0, ci), name="rc")
    ry = te.reduce_axis((0, kh), name="ry")
    rx = te.reduce_axis((0, kw), name="rx")
    out = te.compute(
        (n, co, h - kh + 1, w - kw + 1),
        lambda nn, ff, yy, xx: te.sum(
            data[nn, rc, yy + ry, xx + rx] * kernel[ff, rc, ry, rx],
            axis=[rc, ry, rx],
        ),
        name="out",
    )
    return data, kernel, out

data, kernel, out = conv2d(1, 16, 18, 18, 32, 3, 3)
s = te.create_schedule(out.op)
n, f, y, x = s[out].op.axis
rc, ry, rx = s[out].op.reduce_axis
fo, fi = s[out].split(f, factor=8)
s[out].reorder(n, fo, y, x, rc, ry, rx, fi)
s[out].vectorize(fi)
# this line is what I am not sure about
s[out].unroll(rx)

I tested it on the simulator and the result is right.
""",
        "split reorder vectorize unroll",
    ),
    "a course exercise with a function": (
        """\
Tensor program abstraction question

Following the MLC course I wrote this:

import tvm
from tvm.ir.module import IRModule
from tvm.script import tir as T
import numpy as np

@tvm.script.ir_module
class MatmulModule:
    @T.prim_func
    def main(
        A: T.Buffer((128, 128), "float32"),
        B: T.Buffer((128, 128), "float32"),
        C: T.Buffer((128, 128), "float32"),
    ) -> None:
        T.func_attr({"global_symbol": "main", "tir.noalias": True})
        for i, j, k in T.grid(128, 128, 128):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = 0.0
                C[vi, vj] += A[vi, vk] * B[vk, vj]

def blocking(sch,
             tile_local_y,
             tile_local_x,
             tile_block_y,
             tile_block_x,
             tile_k):
    block_C = sch.get_block("C")
    C_local = sch.cache_write(block_C, 0, "local")

    i, j, k = sch.get_loops(block=block_C)

    i0, i1, i2 = sch.split(loop=i, factors=[None, tile_block_y, tile_local_y])
    j0, j1, j2 = sch.split(loop=j, factors=[None, tile_block_x, tile_local_x])
    k0, k1 = sch.split(loop=k, factors=[None, tile_k])
    sch.unroll(k1)
    sch.reorder(i0, j0, i1, j1, k0, k1, i2, j2)
    sch.reverse_compute_at(C_local, j1)

    sch.bind(i0, "blockIdx.y")
    sch.bind(j0, "blockIdx.x")

    sch.bind(i1, "threadIdx.y")
    sch.bind(j1, "threadIdx.x")
    sch.decompose_reduction(block_C, k0)

    return sch

sch = tvm.tir.Schedule(MatmulModule)
sch = blocking(sch, 8, 8, 8, 8, 4)
sch.mod.show()

rt_mod = tvm.build(sch.mod, target="cuda")
dev = tvm.cuda(0)
A_np = np.random.uniform(size=(128, 128)).astype("float32")
A_nd = tvm.nd.array(A_np, dev)
num_flop = 2 * 128 * 128 * 128
evaluator = rt_mod.time_evaluator("main", dev, number=10)
print("GEMM-Blocking: %f GFLOPS" % (num_flop / evaluator(A_nd, A_nd, A_nd).mean / 1e9))

How can I add shared memory to this?
""",
        "cache_write split split split unroll reorder reverse_compute_at bind bind bind bind decompose_reduction",
    ),
    "functions that fetch into shared memory": (
        """\
```python
@T.prim_func
def matmul(A: T.Buffer((64, 64), "float16"), B: T.Buffer((64, 64), "float16"), C: T.Buffer((64, 64), "float16")):
    for i, j, k in T.grid(64, 64, 64):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float16(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]

def cache_read_and_coop_fetch(sch, block, nthread, read_idx, read_loc):
    read_cache = sch.cache_read(block=block, read_buffer_index=read_idx, storage_scope="shared")
    sch.compute_at(block=read_cache, loop=read_loc)
    # vectorized cooperative fetch
    inner0, inner1 = sch.get_loops(block=read_cache)[-2:]
    inner = sch.fuse(inner0, inner1)
    _, tx, vec = sch.split(loop=inner, factors=[None, nthread, 4])
    sch.vectorize(vec)
    sch.bind(tx, "threadIdx.x")

def go(sch, ty=8, tx=8):
    C = sch.get_block("C")
    i, j, k = sch.get_loops(C)
    i0, i1, i2 = sch.split(i, [None, 8, 4])
    j0, j1, j2 = sch.split(j, [None, 8, 4])
    k0, k1 = sch.split(k, [None, 8])
    sch.reorder(i0, j0, i1, j1, k0, k1, i2, j2)
    sch.bind(sch.fuse(i0, j0), "blockIdx.x")
    tx = sch.fuse(i1, j1)
    sch.bind(tx, "threadIdx.x")
    nthread = 64
    cache_read_and_coop_fetch(sch, C, nthread, 0, k0)
    cache_read_and_coop_fetch(sch, C, nthread, 1, k0)
    sch.decompose_reduction(C, k0)

sch = tvm.tir.Schedule(matmul)
go(sch)
print(sch.mod["main"].script())
```

How do I check this?
""",
        "split split split reorder fuse bind fuse bind cache_read compute_at fuse split vectorize bind cache_read compute_at fuse split vectorize bind decompose_reduction",
    ),
    "sizes in a class": (
        """\
I work on a depthwise conv for ARM:

```python
class Cfg:
    vh = 2
    vw = 4

def dw(n=1, c=8, h=16, w=16):
    data = te.placeholder((n, c, h + 2, w + 2), name="data")
    ker = te.placeholder((c, 3, 3), name="ker")
    kh = te.reduce_axis((0, 3)); kw = te.reduce_axis((0, 3))
    return [data, ker], te.compute((n, c, h, w), lambda b, ch, y, x: te.sum(data[b, ch, y + kh, x + kw] * ker[ch, kh, kw], axis=[kh, kw]), name="dw")

ins, out = dw()
s = te.create_schedule(out.op)
b, ch, y, x = out.op.axis
for ax, f in ((y, Cfg.vh), (x, Cfg.vw)):
    s[out].split(ax, factor=f)
```
""",
        "split split",
    ),
    "an old schedule for a GPU": (
        """\
GPU schedule from an old blog

n = 64
A = tvm.placeholder((n, n), name='A')
B = tvm.placeholder((n, n), name='B')
k = tvm.reduce_axis((0, n), name='k')
C = tvm.compute((n, n), lambda i, j: tvm.sum(A[i, k] * B[k, j], axis=k), name='C')
s = tvm.create_schedule(C.op)
AA = s.cache_read(A, "shared", [C])
BB = s.cache_read(B, "shared", [C])
CC = s.cache_write(C, "local")
by, yi = s[C].split(C.op.axis[0], factor=16)
bx, xi = s[C].split(C.op.axis[1], factor=16)
s[C].reorder(by, bx, yi, xi)
s[C].bind(by, tvm.thread_axis("blockIdx.y"))
s[C].bind(bx, tvm.thread_axis("blockIdx.x"))
s[C].bind(yi, tvm.thread_axis("threadIdx.y"))
s[C].bind(xi, tvm.thread_axis("threadIdx.x"))
s[CC].compute_at(s[C], xi)
ko, ki = s[CC].split(CC.op.reduce_axis[0], factor=8)
for load in [AA, BB]:
    s[load].compute_at(s[CC], ko)
    fused = s[load].fuse(*s[load].op.axis)
    ty, fused = s[load].split(fused, nparts=16)
    tx, fused = s[load].split(fused, nparts=16)
    s[load].bind(ty, tvm.thread_axis("threadIdx.y"))
    s[load].bind(tx, tvm.thread_axis("threadIdx.x"))

def check_device(device):
    ctx = tvm.context(device, 0)
    if not ctx.exist:
        print("Skip because %s is not enabled" % device)
        return
    f = tvm.build(s, [A, B, C], device)
    a = tvm.nd.array(np.random.uniform(size=(n, n)), ctx)
    f(a, a, a)

for device in ["cuda", "opencl"]:
    check_device(device)

Works on my GTX.
""",
        "cache_read cache_read cache_write split split reorder bind bind bind bind compute_at split compute_at fuse split split bind bind compute_at fuse split split bind bind",
    ),
    "a printed schedule of the auto scheduler": (
        """\
The printed schedule of the auto scheduler:

A = te.placeholder((64, 64), name="A")
B = te.placeholder((64, 64), name="B")
k = te.reduce_axis((0, 64), name="k")
matmul = te.compute((64, 64), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="matmul")
s = te.create_schedule(matmul.op)
matmul_i, matmul_j, matmul_k = tuple(matmul.op.axis) + tuple(matmul.op.reduce_axis)
matmul_i_o_i, matmul_i_i = s[matmul].split(matmul_i, factor=8)
matmul_i_o_o_i, matmul_i_o_i = s[matmul].split(matmul_i_o_i, factor=1)
matmul_j_o_i, matmul_j_i = s[matmul].split(matmul_j, factor=32)
matmul_k_o, matmul_k_i = s[matmul].split(matmul_k, factor=4)
s[matmul].reorder(matmul_i_o_o_i, matmul_j_o_i, matmul_k_o, matmul_i_o_i, matmul_k_i, matmul_i_i, matmul_j_i)
s[matmul].pragma(matmul_i_o_o_i, "auto_unroll_max_step", 8)
s[matmul].pragma(matmul_i_o_o_i, "unroll_explicit", True)
s[matmul].vectorize(matmul_j_i)
s[matmul].parallel(matmul_i_o_o_i)

Quite long.
""",
        "split split split split reorder annotate annotate vectorize parallel",
    ),
}
