"""The intents of a user and their handlers, pure functions to the next state; `table.act` calls the handler of an intent."""
