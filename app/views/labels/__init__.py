"""Ids, numbers, sizes and colours as all views write them."""
