"""TVM's targets, as far as texts ask for them: the names of kinds, and the attributes that TVM 0.27 gives a target of a kind alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .subset.scope import Value
from .subset.values import Attributes

TARGET = "target"
"""The name under which the target of a text is given that does not say it."""
_GPU = {"max_num_threads": 256, "max_threads_per_block": 256}
KINDS: Mapping[str, tuple[tuple[str, ...], Mapping[str, int]]] = {
    "cuda": (("cuda", "gpu"), {"max_num_threads": 1024, "thread_warp_size": 32}),
    "llvm": (("cpu",), {}),
    "c": (("cpu",), {}),
    "hexagon": (("hexagon", "cpu"), {}),
    "metal": (("metal", "gpu"), {**_GPU, "thread_warp_size": 16, "max_shared_memory_per_block": 32768}),
    "opencl": (("opencl", "gpu"), {**_GPU, "thread_warp_size": 1, "max_shared_memory_per_block": 16384}),
    "rocm": (("rocm", "gpu"), {**_GPU, "thread_warp_size": 64, "max_shared_memory_per_block": 65536}),
    "vulkan": (("vulkan", "gpu"), {**_GPU, "thread_warp_size": 1}),
    "webgpu": (
        ("webgpu", "gpu"),
        {"max_num_threads": 256, "thread_warp_size": 1, "max_shared_memory_per_block": 32768},
    ),
}
"""The keys and attributes of each kind of target."""


class TargetName(str):
    """A target that is given by its kind: its name, of which code asks for attributes."""

    __slots__ = ()


def is_target(name: str) -> bool:
    """Whether a value with this name is a target."""
    return name.rpartition(".")[2] == TARGET


def target_word(words: Sequence[str]) -> str:
    """Return the example of a target: the first that the code compares it with, else CUDA."""
    return next((word for word in words if word in KINDS), "cuda")


def target_part(target: TargetName, name: str) -> Value:
    """Return `target.kind`, `target.keys`, or an attribute of the kind, also of older TVM; None for others."""
    keys, attributes = KINDS.get(target, ((), {}))
    match name:
        case "kind":
            return Attributes({"name": str(target)}, "the kind")
        case "keys" if keys:
            return keys
        case "attrs" if keys:
            return {**attributes}
        case "target_name":
            return str(target)
        case "device_name" | "mcpu":
            return ""
        case "model":
            return "unknown"
        case "libs" | "mattr":
            return ()
        case _:
            return attributes.get(name)


__all__ = ["KINDS", "TARGET", "TargetName", "is_target", "target_part", "target_word"]
