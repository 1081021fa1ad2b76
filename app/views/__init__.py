"""What each part of the page shows: functions from the state to plain values, without a browser."""
