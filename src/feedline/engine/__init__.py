"""Running plans: states and blocks, the cursor that feeds a loop, checkpoints."""
