"""One candidate evaluated, its outcome, and the study that keeps all outcomes."""
