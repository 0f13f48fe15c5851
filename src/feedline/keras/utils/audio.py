"""`audio_dataset_from_directory`: WAV files in folders, one per class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from feedline.errors import InvalidArgumentError, UnimplementedError
from feedline.io.files import read_file
from feedline.io.wav import decode_wav
from feedline.keras.utils.directories import Arguments
from feedline.plan.arguments import AUTOTUNE
from feedline.structure.ragged import RaggedTensor


def audio_dataset_from_directory(
    directory: Any,
    labels: Any = "inferred",
    label_mode: str | None = "int",
    class_names: Sequence[str] | None = None,
    batch_size: int | None = 32,
    sampling_rate: int | None = None,
    output_sequence_length: int | None = None,
    ragged: bool = False,
    shuffle: bool = True,
    seed: int | None = None,
    validation_split: float | None = None,
    subset: str | None = None,
    follow_links: bool = False,
    verbose: bool = True,
) -> Any:
    """WAV files in folders, one per class, as batches of samples [files, samples, channels] from -1 to 1.

    >>> import io, tempfile, wave
    >>> folder, file = tempfile.mkdtemp(), io.BytesIO()
    >>> with wave.open(file, "wb") as out:
    ...     out.setnchannels(1), out.setsampwidth(2), out.setframerate(8000)
    ...     out.writeframes(np.arange(100, dtype="<i2").tobytes())
    (None, None, None)
    >>> fl.io.write_file(f"{folder}/hello/0.wav", file.getvalue())
    >>> ds = fl.keras.utils.audio_dataset_from_directory(folder, verbose=False)
    >>> next(iter(ds))[0].shape
    (1, 100, 1)

    Batches are padded with zeros, unless `output_sequence_length` gives all files one length, or `ragged` makes them
    ragged. The other arguments are those of `image_dataset_from_directory`. Files are not resampled: `sampling_rate`
    must be None.
    """
    op = "audio_dataset_from_directory"
    if ragged and output_sequence_length is not None:
        raise InvalidArgumentError(f"{op}: ragged and output_sequence_length exclude each other")
    if sampling_rate is not None:
        raise UnimplementedError(
            f"{op}: sampling_rate must be None, got {sampling_rate!r}; resample in a map, for instance with "
            "scipy.signal.resample_poly"
        )
    length = -1 if output_sequence_length is None else output_sequence_length

    def load(path: bytes) -> Any:
        samples = decode_wav(read_file(path), desired_samples=length).audio
        return RaggedTensor.from_tensor(samples) if ragged else samples

    def finish(ds: Any) -> Any:
        ds = ds.prefetch(AUTOTUNE)
        if batch_size is None:
            return ds
        pads = output_sequence_length is None and not ragged
        return ds.padded_batch(batch_size) if pads else ds.batch(batch_size)

    given = Arguments(
        *(op, directory, labels, label_mode, class_names, batch_size, shuffle, seed, validation_split, subset),
        *(follow_links, verbose),
    )
    made = given.datasets((".wav",), "audio files", load, finish)
    return tuple(made) if subset == "both" else made
