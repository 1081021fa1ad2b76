"""Model files through TVM's frontends: from a file to the text of a lowered module. Needs TVM and the package of the format."""

from .formats import is_model_file, lowered_text, model_suffixes

__all__ = ["is_model_file", "lowered_text", "model_suffixes"]
