"""Work in threads and processes: background analyses of what is shown, on-demand analyses, drop previews, exploration, exports."""
