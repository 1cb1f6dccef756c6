"""Signs of life: who is here, what runs, and since when."""
