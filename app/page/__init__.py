"""The components of one page, and the catalogue of notebooks on its start screen."""
