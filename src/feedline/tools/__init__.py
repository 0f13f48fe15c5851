"""The command `feedline`: one module per sub-command, and the parts they share."""
