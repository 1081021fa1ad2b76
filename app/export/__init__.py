"""What a notebook is exported as: code, timelines, pictures, and a replay as one HTML file."""
