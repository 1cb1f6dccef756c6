"""Agents that all want the same files, as real processes for a while; with `git coord`, and the same without it."""
