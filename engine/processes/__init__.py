"""Work with limits: budgets of processor time and memory, and child processes that can be killed."""
