"""Derivation of a space: rules write a schedule with holes for a program on a machine, group of blocks by group."""
