"""Measuring on another device by TVM's RPC: a tracker hands out servers, and this computer builds for them."""

from .device import RemoteDevice, measure_remote

__all__ = ["RemoteDevice", "measure_remote"]
