"""What the verbs do: order of steps, retries, verification."""
