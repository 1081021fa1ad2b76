"""What must hold for schedule calls: affine bindings, motion of blocks, concurrent loops, vectors, layouts."""
