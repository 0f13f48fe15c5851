"""What the sub-commands share: arguments, output, and records of any format."""
