"""The user's private folders: state that outlives a server, runtime files, and the state of each folder of notebooks."""
