# %% [markdown]
# # A transformer layer
#
# 15 calls of 11 kernels; `kernels/NAME.py` has the schedule of each.
#
# Attention with 4 heads, an MLP with GELU, layer norms and residual sums, on 128 rows of 256 values. Each kernel has a schedule.

# %% machine
import tilewright

machine = tilewright.machine("dual-bank-npu")

# %% graph
from tilewright.script import relax as R


@R.function
def main(
    x: R.Tensor((128, 256), "float32"),
    w0: R.Tensor((256,), "float32"),
    w1: R.Tensor((256,), "float32"),
    w2: R.Tensor((256, 256), "float32"),
    w3: R.Tensor((256,), "float32"),
    w4: R.Tensor((256, 256), "float32"),
    w5: R.Tensor((256,), "float32"),
    w6: R.Tensor((256, 256), "float32"),
    w7: R.Tensor((256,), "float32"),
    w8: R.Tensor((256, 256), "float32"),
    w9: R.Tensor((256,), "float32"),
    w10: R.Tensor((256,), "float32"),
    w11: R.Tensor((256,), "float32"),
    w12: R.Tensor((256, 1024), "float32"),
    w13: R.Tensor((1024,), "float32"),
    w14: R.Tensor((1024, 256), "float32"),
    w15: R.Tensor((256,), "float32"),
):
    R.func_attr({"num_input": 1})
    with R.dataflow():
        lv = R.call_tir(cls.layer_norm, (x, w0, w1), out_ty=R.Tensor((128, 256), "float32"))
        lv_1 = R.call_tir(cls.fused_matmul_add, (lv, w2, w3), out_ty=R.Tensor((128, 256), "float32"))
        lv1 = R.call_tir(cls.fused_matmul_add, (lv, w4, w5), out_ty=R.Tensor((128, 256), "float32"))
        lv2 = R.call_tir(cls.fused_matmul_add, (lv, w6, w7), out_ty=R.Tensor((128, 256), "float32"))
        lv3 = R.call_tir(cls.fused_reshape_transpose, (lv_1,), out_ty=R.Tensor((4, 128, 64), "float32"))
        lv4 = R.call_tir(cls.fused_reshape_transpose1, (lv1,), out_ty=R.Tensor((4, 64, 128), "float32"))
        lv5 = R.call_tir(cls.fused_matmul1_multiply, (lv3, lv4), out_ty=R.Tensor((4, 128, 128), "float32"))
        lv13 = R.call_tir(cls.softmax, (lv5,), out_ty=R.Tensor((4, 128, 128), "float32"))
        lv6 = R.call_tir(cls.fused_reshape_transpose, (lv2,), out_ty=R.Tensor((4, 128, 64), "float32"))
        lv16 = R.call_tir(cls.matmul2, (lv13, lv6), out_ty=R.Tensor((4, 128, 64), "float32"))
        lv7 = R.call_tir(cls.fused_transpose2_reshape1, (lv16,), out_ty=R.Tensor((128, 256), "float32"))
        lv8 = R.call_tir(cls.fused_matmul_add_add1, (lv7, w8, w9, x), out_ty=R.Tensor((128, 256), "float32"))
        lv22 = R.call_tir(cls.layer_norm, (lv8, w10, w11), out_ty=R.Tensor((128, 256), "float32"))
        lv9 = R.call_tir(cls.fused_matmul3_add2_gelu, (lv22, w12, w13), out_ty=R.Tensor((128, 1024), "float32"))
        gv = R.call_tir(cls.fused_matmul4_add_add1, (lv9, w14, w15, lv8), out_ty=R.Tensor((128, 256), "float32"))
        R.output(gv)
    return gv


# %% report
model = tilewright.load_network(__file__)
print(model.report_text())
