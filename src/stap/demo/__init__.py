"""The main job, shown on a bundled log."""
