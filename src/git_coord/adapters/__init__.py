"""The agents' door for tools that run hooks: what happens around an edit, and how that is set up in each tool."""
