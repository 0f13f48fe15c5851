"""From serialized `Example` messages to arrays: `features` describes what to read, `kernels` decode the wire format."""
