"""Measures points: plans tasks, schedules visits, starts workers and talks to them."""
