"""The messages of views and the requests of programs, read into intents."""
