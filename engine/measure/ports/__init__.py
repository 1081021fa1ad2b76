"""A port model of compiled code: the path that a program takes, llvm-mca's cycles for it, and the traffic
between cache levels."""

from .clock import clock_hz
from .levels import level_time, traffic_time
from .model import PortCycles, find_mca, port_cycles, port_times

__all__ = ["PortCycles", "clock_hz", "find_mca", "level_time", "port_cycles", "port_times", "traffic_time"]
