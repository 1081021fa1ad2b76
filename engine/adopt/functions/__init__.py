"""Programs that functions, methods and lambdas of a text make: what they need, and how they are called."""
