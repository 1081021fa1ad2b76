"""The Next pane: what limits the program, and calls that improve it, ranked by their simulated effect."""
