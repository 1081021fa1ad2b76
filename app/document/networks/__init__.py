"""The notebook of a model: a file with its graph, and a folder `kernels` with the notebook of each kernel."""

from .folder import KERNELS, NetworkNotebook, create_network, load_network

__all__ = ["KERNELS", "NetworkNotebook", "create_network", "load_network"]
