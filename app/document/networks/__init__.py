"""The notebook of a model: a file with its graph, and a folder `kernels` with the notebook of each kernel."""

from .folder import KERNELS, NetworkNotebook, create_network, load_network, save_on_chip
from .search import SEARCH, explore_model

__all__ = ["KERNELS", "SEARCH", "NetworkNotebook", "create_network", "explore_model", "load_network", "save_on_chip"]
