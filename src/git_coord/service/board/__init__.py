"""The postboard: what agents tell each other."""
