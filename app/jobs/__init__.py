"""Background work in threads and processes: analyses of the visible program, on-demand analyses, drop previews, exploration, exports."""
