"""The machine panel, its parameters, the roofline and the traffic between scopes."""
