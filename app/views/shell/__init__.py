"""The page around the panes: top bar, start screen, command palette, guided tour, and the state as JSON for programs."""
