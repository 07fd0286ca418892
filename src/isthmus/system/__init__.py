"""Reads and controls the machine that measures: its state, binding, memory, PCIe and the lock."""
