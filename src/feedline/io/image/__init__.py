"""Pictures in files: `decode` and `encode` are the functions of `tf.io`, the other modules know a format each."""
