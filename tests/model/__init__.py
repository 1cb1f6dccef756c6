"""The whole system as a state machine: agents, clones, clocks and faults, against rules written down a second time."""
