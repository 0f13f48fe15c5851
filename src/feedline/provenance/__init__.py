"""Provenance: where in files rows come from, and how a checkpoint holds that instead of the rows.

    rows      `Provenance`, which a block carries: a location for each row, and the lineage that has made it
    files     the numbers of files, of which locations are made
    identity  the version of a file, and how a checkpoint tells whether it has changed
    codec     locations as plain values, for a checkpoint
"""
