"""The fast path of the hooks: standard library only, a picture written beforehand, and no work that can be avoided."""
