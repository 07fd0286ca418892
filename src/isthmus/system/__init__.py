"""The machine under a run: environment, binding, the measuring lock."""
