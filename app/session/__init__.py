"""One open page or API session: its state, the queue of changes, its view and its file; and the registry of all sessions."""
