"""What every schedule of a program needs: the products in it, the elements that they touch, and the cycles that they cost at least."""
