"""Ids, numbers, sizes and colours, formatted for all views."""
