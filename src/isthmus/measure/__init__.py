"""From points to samples: plan, schedule, workers and their protocol."""
