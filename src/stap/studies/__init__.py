"""Accuracy: who predicts whom how well, and what it depends on. Speed is measured in bench."""
