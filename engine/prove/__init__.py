"""Proofs that a scheduled affine program is equivalent to the original, for all inputs and all sizes. Needs islpy, the extra `prove`."""

from .proof import Proof, check, prove
from .sized import Sized, sized

__all__ = ["Proof", "Sized", "check", "prove", "sized"]
