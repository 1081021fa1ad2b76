"""Relax functions as graphs of kernel calls, read from TVM's text and never run."""

from .modules import parse_network, read_graph
from .printing import extent_text, graph_text

__all__ = ["extent_text", "graph_text", "parse_network", "read_graph"]
