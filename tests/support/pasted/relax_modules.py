"""Modules with relax functions: a small model of three kernels, and parts of invalid ones."""

# ruff: noqa: E501

KERNELS = """
    @T.prim_func(private=True, s_tir=True)
    def scale(x: T.Buffer((16, 16), "float32"), y: T.Buffer((16, 16), "float32")):
        for i, j in T.grid(16, 16):
            with T.sblock("scale"):
                vi, vj = T.axis.remap("SS", [i, j])
                y[vi, vj] = x[vi, vj] * T.float32(2)

    @T.prim_func(private=True, s_tir=True)
    def again(a: T.Buffer((16, 16), "float32"), b: T.Buffer((16, 16), "float32")):
        for i, j in T.grid(16, 16):
            with T.sblock("again"):
                vi, vj = T.axis.remap("SS", [i, j])
                b[vi, vj] = a[vi, vj] * T.float32(2)

    @T.prim_func(private=True, s_tir=True)
    def both(x: T.Buffer((16, 16), "float32"), w: T.Buffer((16, 16), "float32"), s: T.Buffer((16, 16), "float32"), p: T.Buffer((16, 16), "float32")):
        for i, j in T.grid(16, 16):
            with T.sblock("s"):
                vi, vj = T.axis.remap("SS", [i, j])
                s[vi, vj] = x[vi, vj] + w[vi, vj]
        for i, j in T.grid(16, 16):
            with T.sblock("p"):
                vi, vj = T.axis.remap("SS", [i, j])
                p[vi, vj] = x[vi, vj] * w[vi, vj]
"""

HEAD = """\
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Module:
"""

MAIN = """
    @R.function
    def main(x: R.Tensor((16, 16), dtype="float32"), w: R.Tensor((16, 16), dtype="float32")) -> R.Tensor((16, 16), dtype="float32"):
        R.func_attr({"num_input": 1})
        cls = Module
        with R.dataflow():
            ready = R.call_tir(cls.scale, (w,), out_ty=R.Tensor((16, 16), dtype="float32"))
            lv = R.call_tir(cls.scale, (x,), out_ty=R.Tensor((16, 16), dtype="float32"))
            lv1 = R.call_tir(cls.both, (lv, ready), out_ty=[R.Tensor((16, 16), dtype="float32"), R.Tensor((16, 16), dtype="float32")])
            lv2: R.Tensor((16, 16), dtype="float32") = lv1[0]
            lv3: R.Tensor((16, 16), dtype="float32") = lv1[1]
            lv4 = R.call_tir(cls.again, (lv3,), out_ty=R.Tensor((16, 16), dtype="float32"))
            lv5 = R.call_tir(cls.both, (lv4, metadata["ir.GenericConst"][0]), out_ty=[R.Tensor((16, 16), dtype="float32"), R.Tensor((16, 16), dtype="float32")])
            gv: R.Tensor((16, 16), dtype="float32") = lv5[0]
            R.output(gv)
        return gv
"""

DOUBLE_MODEL = """
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def double(A: T.Buffer((512,), "float32"), B: T.Buffer((512,), "float32")):
        for i in range(512):
            with T.sblock("B"):
                vi = T.axis.spatial(512, i)
                B[vi] = A[vi] * T.float32(2)

    @T.prim_func(s_tir=True)
    def relu(A: T.Buffer((512,), "float32"), B: T.Buffer((512,), "float32")):
        for i in range(512):
            with T.sblock("B"):
                vi = T.axis.spatial(512, i)
                B[vi] = T.max(A[vi], T.float32(0))

    @R.function
    def main(x: R.Tensor((512,), dtype="float32")) -> R.Tensor((512,), dtype="float32"):
        cls = Module
        with R.dataflow():
            lv = R.call_tir(cls.double, (x,), out_sinfo=R.Tensor((512,), dtype="float32"))
            lv1 = R.call_tir(cls.double, (lv,), out_sinfo=R.Tensor((512,), dtype="float32"))
            gv = R.call_tir(cls.relu, (lv1,), out_sinfo=R.Tensor((512,), dtype="float32"))
            R.output(gv)
        return gv
"""
"""The model with the cheapest kernels: a search of their schedules needs a second."""

MODEL = HEAD + KERNELS + MAIN
"""Five calls of three functions, two of which have one structure: one call prepares a weight, one weight is a constant."""

OPEN = (
    HEAD
    + """
    @T.prim_func(private=True, s_tir=True)
    def relu(var_x: T.handle, var_y: T.handle):
        m = T.int64()
        x = T.match_buffer(var_x, (m, 8))
        y = T.match_buffer(var_y, (m, 8))
        for i, j in T.grid(m, 8):
            with T.sblock("relu"):
                vi, vj = T.axis.remap("SS", [i, j])
                y[vi, vj] = T.max(x[vi, vj], T.float32(0))

    @R.function(private=True)
    def twice(a: R.Tensor(("k", 8), dtype="float32")) -> R.Tensor(("k", 8), dtype="float32"):
        k = T.int64()
        cls = Module
        lv = R.call_tir(cls.relu, (a,), out_sinfo=R.Tensor((k, 8), dtype="float32"))
        return R.call_tir(cls.relu, (lv,), out_sinfo=R.Tensor((k, 8), dtype="float32"))

    @R.function
    def main(x: R.Tensor(("n", 8), dtype="float32"), z: R.Tensor(("n * 2", 8), dtype="float32")):
        n = T.int64()
        cls = Module
        gv: R.Tensor((n, 8), dtype="float32") = cls.twice(x)
        gv1 = cls.twice(z)
        return (gv, gv1)
"""
)
"""A size that the model leaves open, `n`, and a relax function that is called with `n` and with `n * 2` rows."""

IN_PLACE = (
    HEAD
    + """
    @T.prim_func(private=True, s_tir=True)
    def shift(x: T.Buffer((16,), "float32"), y: T.Buffer((16,), "float32")):
        for i in range(16):
            with T.sblock("shift"):
                vi = T.axis.spatial(16, i)
                x[vi] = x[vi] + T.float32(1)
                y[vi] = x[vi] * T.float32(2)

    @R.function
    def main(x: R.Tensor((16,), dtype="float32")):
        cls = Module
        both = R.call_tir_inplace(cls.shift, (x,), inplace_indices=[0, -1], out_ty=[R.Tensor((16,), dtype="float32"), R.Tensor((16,), dtype="float32")])
        return (both[0], both[1])
"""
)
"""A call that stores a result in its argument."""

SCALAR = (
    HEAD
    + """
    @T.prim_func(private=True, s_tir=True)
    def grow(x: T.Buffer((16, 16), "float32"), by: T.Buffer((), "float32"), y: T.Buffer((16, 16), "float32")):
        for i, j in T.grid(16, 16):
            with T.sblock("grow"):
                vi, vj = T.axis.remap("SS", [i, j])
                y[vi, vj] = x[vi, vj] * by[()]

    @R.function
    def main(x: R.Tensor((16, 16), dtype="float32")) -> R.Tensor((16, 16), dtype="float32"):
        R.func_attr({"num_input": 1})
        cls = Module
        with R.dataflow():
            lv = R.call_tir(cls.grow, (x, R.const(-2.5, "float32")), out_ty=R.Tensor((16, 16), dtype="float32"))
            gv = R.call_tir(cls.grow, (lv, R.const(0.5, "float32")), out_ty=R.Tensor((16, 16), dtype="float32"))
            R.output(gv)
        return gv
"""
)
"""Two calls whose second argument is a number of the text."""
