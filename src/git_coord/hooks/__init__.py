"""What git triggers."""
