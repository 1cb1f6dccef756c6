"""Who is working on what in this repository, and may I touch this file."""

__version__ = "0.1.0"
