# %% [markdown]
# # The eight blocks of ResNet-18
#
# 19 calls of 14 kernels; `kernels/NAME.py` has the schedule of each.
#
# Convolutions of 3x3 with their batch norms folded in, each fused with bias, sum and ReLU. Each kernel has a schedule.

# %% machine
import tilewright

machine = tilewright.machine("dual-bank-npu")

# %% graph
from tilewright.script import relax as R


@R.function
def main(
    x: R.Tensor((1, 64, 56, 56), "float32"),
    w0: R.Tensor((64, 64, 3, 3), "float32"),
    w1: R.Tensor((1, 64, 1, 1), "float32"),
    w2: R.Tensor((64, 64, 3, 3), "float32"),
    w3: R.Tensor((1, 64, 1, 1), "float32"),
    w4: R.Tensor((64, 64, 3, 3), "float32"),
    w5: R.Tensor((1, 64, 1, 1), "float32"),
    w6: R.Tensor((64, 64, 3, 3), "float32"),
    w7: R.Tensor((1, 64, 1, 1), "float32"),
    w8: R.Tensor((128, 64, 3, 3), "float32"),
    w9: R.Tensor((1, 128, 1, 1), "float32"),
    w10: R.Tensor((128, 128, 3, 3), "float32"),
    w11: R.Tensor((1, 128, 1, 1), "float32"),
    w12: R.Tensor((128, 64, 1, 1), "float32"),
    w13: R.Tensor((1, 128, 1, 1), "float32"),
    w14: R.Tensor((128, 128, 3, 3), "float32"),
    w15: R.Tensor((1, 128, 1, 1), "float32"),
    w16: R.Tensor((128, 128, 3, 3), "float32"),
    w17: R.Tensor((1, 128, 1, 1), "float32"),
    w18: R.Tensor((256, 128, 3, 3), "float32"),
    w19: R.Tensor((1, 256, 1, 1), "float32"),
    w20: R.Tensor((256, 256, 3, 3), "float32"),
    w21: R.Tensor((1, 256, 1, 1), "float32"),
    w22: R.Tensor((256, 128, 1, 1), "float32"),
    w23: R.Tensor((1, 256, 1, 1), "float32"),
    w24: R.Tensor((256, 256, 3, 3), "float32"),
    w25: R.Tensor((1, 256, 1, 1), "float32"),
    w26: R.Tensor((256, 256, 3, 3), "float32"),
    w27: R.Tensor((1, 256, 1, 1), "float32"),
    w28: R.Tensor((512, 256, 3, 3), "float32"),
    w29: R.Tensor((1, 512, 1, 1), "float32"),
    w30: R.Tensor((512, 512, 3, 3), "float32"),
    w31: R.Tensor((1, 512, 1, 1), "float32"),
    w32: R.Tensor((512, 256, 1, 1), "float32"),
    w33: R.Tensor((1, 512, 1, 1), "float32"),
    w34: R.Tensor((512, 512, 3, 3), "float32"),
    w35: R.Tensor((1, 512, 1, 1), "float32"),
    w36: R.Tensor((512, 512, 3, 3), "float32"),
    w37: R.Tensor((1, 512, 1, 1), "float32"),
):
    R.func_attr({"num_input": 1})
    with R.dataflow():
        lv = R.call_tir(cls.fused_conv2d_add_relu, (x, w0, w1), out_ty=R.Tensor((1, 64, 56, 56), "float32"))
        lv1 = R.call_tir(cls.fused_conv2d_add_add1_relu, (lv, w2, w3, x), out_ty=R.Tensor((1, 64, 56, 56), "float32"))
        lv2 = R.call_tir(cls.fused_conv2d_add_relu, (lv1, w4, w5), out_ty=R.Tensor((1, 64, 56, 56), "float32"))
        lv3 = R.call_tir(cls.fused_conv2d_add_add1_relu, (lv2, w6, w7, lv1), out_ty=R.Tensor((1, 64, 56, 56), "float32"))
        lv4 = R.call_tir(cls.fused_conv2d1_add2_relu1, (lv3, w8, w9), out_ty=R.Tensor((1, 128, 28, 28), "float32"))
        lv5 = R.call_tir(cls.fused_conv2d3_add2, (lv3, w12, w13), out_ty=R.Tensor((1, 128, 28, 28), "float32"))
        lv6 = R.call_tir(cls.fused_conv2d2_add2_add3_relu1, (lv4, w10, w11, lv5), out_ty=R.Tensor((1, 128, 28, 28), "float32"))
        lv7 = R.call_tir(cls.fused_conv2d2_add2_relu1, (lv6, w14, w15), out_ty=R.Tensor((1, 128, 28, 28), "float32"))
        lv8 = R.call_tir(cls.fused_conv2d2_add2_add3_relu1, (lv7, w16, w17, lv6), out_ty=R.Tensor((1, 128, 28, 28), "float32"))
        lv9 = R.call_tir(cls.fused_conv2d4_add4_relu2, (lv8, w18, w19), out_ty=R.Tensor((1, 256, 14, 14), "float32"))
        lv10 = R.call_tir(cls.fused_conv2d6_add4, (lv8, w22, w23), out_ty=R.Tensor((1, 256, 14, 14), "float32"))
        lv11 = R.call_tir(cls.fused_conv2d5_add4_add5_relu2, (lv9, w20, w21, lv10), out_ty=R.Tensor((1, 256, 14, 14), "float32"))
        lv12 = R.call_tir(cls.fused_conv2d5_add4_relu2, (lv11, w24, w25), out_ty=R.Tensor((1, 256, 14, 14), "float32"))
        lv13 = R.call_tir(cls.fused_conv2d5_add4_add5_relu2, (lv12, w26, w27, lv11), out_ty=R.Tensor((1, 256, 14, 14), "float32"))
        lv14 = R.call_tir(cls.fused_conv2d7_add6_relu3, (lv13, w28, w29), out_ty=R.Tensor((1, 512, 7, 7), "float32"))
        lv15 = R.call_tir(cls.fused_conv2d9_add6, (lv13, w32, w33), out_ty=R.Tensor((1, 512, 7, 7), "float32"))
        lv16 = R.call_tir(cls.fused_conv2d8_add6_add7_relu3, (lv14, w30, w31, lv15), out_ty=R.Tensor((1, 512, 7, 7), "float32"))
        lv17 = R.call_tir(cls.fused_conv2d8_add6_relu3, (lv16, w34, w35), out_ty=R.Tensor((1, 512, 7, 7), "float32"))
        gv = R.call_tir(cls.fused_conv2d8_add6_add7_relu3, (lv17, w36, w37, lv16), out_ty=R.Tensor((1, 512, 7, 7), "float32"))
        R.output(gv)
    return gv


# %% report
model = tilewright.load_network(__file__)
print(model.report_text())
