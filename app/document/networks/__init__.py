"""The notebook of a model: a file with its graph, and a folder `kernels` with the notebook of each kernel."""

from .folder import (
    KERNELS,
    MODEL,
    NetworkNotebook,
    create_network,
    is_model,
    linked,
    load_network,
    model_file,
    read_network,
    save_on_chip,
    save_sizes,
    unscheduled,
)
from .search import SEARCH, explore_model

__all__ = [
    "KERNELS",
    "MODEL",
    "SEARCH",
    "NetworkNotebook",
    "create_network",
    "explore_model",
    "is_model",
    "linked",
    "load_network",
    "model_file",
    "read_network",
    "save_on_chip",
    "save_sizes",
    "unscheduled",
]
