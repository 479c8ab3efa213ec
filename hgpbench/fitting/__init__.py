"""What estimators share: first values, the fits of each family, batches, checkpoints, threads."""
