"""Programs printed as TVMScript."""
