"""Evaluation of one candidate, its outcome, and the study that keeps all outcomes."""
