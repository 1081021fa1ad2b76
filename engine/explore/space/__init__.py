"""The search space: a schedule with holes, the values of each hole, and spaces derived from a program and a machine."""
