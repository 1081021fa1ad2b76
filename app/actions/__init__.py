"""What a person can do, as intents, and the state after each: `table` has one handler for each intent. Pure functions."""
