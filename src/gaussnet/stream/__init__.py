"""Data on their way in: arrays, frames, pages."""
