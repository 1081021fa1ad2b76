"""The intents of a user and their handlers, pure functions to the next state; `table` maps each intent to its handler."""
