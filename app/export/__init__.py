"""Exports of a notebook: code, timelines, pictures, and a replay as one HTML file."""
