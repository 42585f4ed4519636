"""Training: a run is a folder, and everything in it follows from its config, the data and a step counter."""
