"""Edit hooks and their installation."""
