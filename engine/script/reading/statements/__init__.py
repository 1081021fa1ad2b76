"""Statements of a program, from syntax tree to IR."""
