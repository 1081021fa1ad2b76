"""Kernels of tilelang-ascend: AI cores with a cube core, two vector cores and their memories."""
