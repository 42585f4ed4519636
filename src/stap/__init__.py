"""STAP: a next-app predictor that never needs to know what an app is."""

__version__ = "0.1.0"
