"""TileLang kernels as block programs: source text of both forms, and the tile IR that the compiler prints."""
