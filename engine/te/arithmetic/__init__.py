"""Helpers of TVM that compute with sizes and indices while a text is read."""
