"""Commands about times: those of this computer, and measured tables beside predictions."""
