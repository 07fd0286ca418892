"""What a run must know of the machine: environment, binding, the measuring lock."""
