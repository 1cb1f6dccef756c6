"""How records sit in git: refs, objects, transport."""
