"""Functions of Python's own modules and of NumPy whose results constants decide."""
