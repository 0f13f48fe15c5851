"""What operators share: states, row stores, and nodes that only rewrites and other operators make."""
