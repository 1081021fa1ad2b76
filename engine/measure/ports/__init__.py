"""A port model of compiled code: the path that a program takes, and llvm-mca's cycles for it."""

from .clock import clock_hz
from .model import PortCycles, find_mca, port_cycles, port_times

__all__ = ["PortCycles", "clock_hz", "find_mca", "port_cycles", "port_times"]
