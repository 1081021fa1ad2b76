"""Conversion of views' messages and programs' requests to intents."""
