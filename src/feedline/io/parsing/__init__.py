"""From serialized `Example` messages to arrays: `features` says what to read, `kernels` reads the wire."""
