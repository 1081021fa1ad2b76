"""The timeline: its tables, the window that is drawn, waits and their explanation."""
