"""From serialized `Example` messages to arrays: `features` says what to read, `entries` reads the wire."""
