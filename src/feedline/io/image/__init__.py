"""Image files: `decode` and `encode` are the functions of `tf.io`; every other module handles one format."""
