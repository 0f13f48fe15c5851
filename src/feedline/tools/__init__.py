"""What the command `feedline` does: one module per sub-command, and the parts they share."""
