"""Reads TFRecord files with an unknown schema: infers the features, looks at elements, then reads all of them.

    python unknown_tfrecords.py 'data/*.tfrecord'

Without arguments it generates files, with features that differ from record to record.
"""

from __future__ import annotations

import sys
import tempfile
from typing import Any

import numpy as np

import feedline as fl
from feedline.train import BytesList, Example, Feature, Features, FloatList, Int64List


def write_mystery(path: str, records: int) -> str:
    """Writes records with a number and a name, any number of words, and sometimes a score."""
    rng = np.random.default_rng(0)
    words = [b"feed", b"line", b"block", b"plan", b"node"]
    with fl.io.TFRecordWriter(path, "GZIP") as writer:
        for i in range(records):
            feature = {
                "id": Feature(int64_list=Int64List(value=[i])),
                "name": Feature(bytes_list=BytesList(value=[b"record %d" % i])),
                "words": Feature(bytes_list=BytesList(value=rng.choice(words, rng.integers(0, 6)).tolist())),
                "vector": Feature(float_list=FloatList(value=rng.random(3).tolist())),
            }
            if i % 4:
                feature["score"] = Feature(float_list=FloatList(value=[float(rng.random())]))
            writer.write(Example(features=Features(feature=feature)).SerializeToString())
    return path


def look(files: str) -> tuple[Any, list[dict[str, Any]]]:
    """Prints the contents of the files; returns the features, which can be pasted into a program, and some elements."""
    names = fl.io.gfile.glob(files)
    features = fl.io.infer_features(names, compression_type="AUTO")
    print(f"{len(names)} files; their features:\n{features}\n")
    some = list(fl.TFRecordDataset(names, compression_type="AUTO").parse(features).take(3).as_numpy_iterator())
    for element in some:
        print(element)
    return features, some


def main(records: int = 1000, batch: int = 64) -> tuple[Any, float]:
    """Looks at generated files, then reads them; returns the features, and the mean of the scores."""
    with tempfile.TemporaryDirectory() as folder:
        path = write_mystery(f"{folder}/mystery.tfrecord", records)
        features, _ = look(path)
        total, seen = 0.0, 0
        for rows in fl.TFRecordDataset(path, compression_type="AUTO").parse(features, batch_size=batch):
            scores = rows["score"].values  # sparse: some records have none
            total, seen = total + float(scores.sum()), seen + len(scores)
    print(f"\n{seen} of {records} records have a score, {total / seen:.3f} on average")
    return features, total / seen


if __name__ == "__main__":
    look(sys.argv[1]) if len(sys.argv) > 1 else main()
