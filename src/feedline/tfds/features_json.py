"""Features from the file features.json, in both forms that tensorflow_datasets has written."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from feedline.errors import InvalidArgumentError, UnimplementedError
from feedline.structure.types import DType, as_dtype
from feedline.tfds import features as f
from feedline.tfds.features import FeatureConnector

OWN = "tensorflow_datasets."
MOST, MOST_DIMENSIONS = 1 << 40, 32
"""The largest size, and the largest number of dimensions, of an array."""

Names = Callable[[str], list[str] | None]


class Content:
    """The arguments of one feature in the file, with the feature's place for messages. `newer` tells whether they have
    the form that files have since tensorflow_datasets 4.5.
    """

    def __init__(self, values: Any, where: str, place: tuple[str, ...], names: Names, newer: bool = True) -> None:
        if not isinstance(values, Mapping):
            raise InvalidArgumentError(f"{where}: the feature {_shown(place)} must be an object, got {values!r:.80}")
        self.values, self.where, self.place, self.names_in, self.newer = values, where, place, names, newer

    def wrong(self, key: str, got: object, expected: str) -> InvalidArgumentError:
        """The error for a wrong value of a key."""
        return InvalidArgumentError(
            f"{self.where}: {key!r} of the feature {_shown(self.place)} must be {expected}, got {got!r:.80}"
        )

    def get(self, *keys: str) -> Any:
        """The value under the first of the keys that is there; None if none is."""
        return next((self.values[key] for key in keys if self.values.get(key) is not None), None)

    def integer(self, *keys: str) -> int | None:
        """A whole number, which may be written as a string."""
        found = self.get(*keys)
        return None if found is None else self._whole(keys[0], found)

    def _whole(self, key: str, found: Any) -> int:
        try:
            if isinstance(found, (bool, float)):
                raise ValueError
            return int(found)
        except (TypeError, ValueError):
            raise self.wrong(key, found, "a whole number") from None

    def text(self, *keys: str) -> str | None:
        """A string; None if it is empty."""
        found = self.get(*keys)
        if found is not None and not isinstance(found, str):
            raise self.wrong(keys[0], found, "a string")
        return found or None

    def shape(self) -> tuple[int | None, ...]:
        """The shape: a list, or an object that holds it as "dimensions"; unknown sizes are null or -1."""
        found = self.get("shape")
        listed = found.get("dimensions", []) if isinstance(found, Mapping) else found or []
        if not isinstance(listed, list):
            raise self.wrong("shape", found, "a list of sizes")
        sizes = [None if n is None else self._whole("shape", n) for n in listed]
        if any(n is not None and not -1 <= n <= MOST for n in sizes) or len(sizes) > MOST_DIMENSIONS:
            raise self.wrong("shape", found, "a list of sizes")
        return tuple(None if n == -1 else n for n in sizes)

    def dtype(self, default: str | None = None) -> DType:
        """The dtype by its name."""
        name = self.text("dtype") or default
        try:
            return as_dtype("string" if name in ("object", "str") else name)
        except (TypeError, ValueError, ImportError):
            raise self.wrong("dtype", name, "the name of a dtype") from None

    def feature(self, value: Any, *further: str) -> FeatureConnector:
        """A feature inside this one."""
        return _feature(value, self.where, (*self.place, *further), self.names_in)

    def names(self) -> list[str] | None:
        """The class names that the folder holds for this feature."""
        return self.names_in("-".join(part.replace("/", ".") for part in self.place))


def features_from_json(text: bytes, where: str, names: Names) -> FeatureConnector:
    """The features that a file describes. `where` is the file, for messages; `names` gives the class names that the
    folder holds for a feature.
    """
    try:
        value = json.loads(text)
        return _feature(value, where, (), names)
    except (json.JSONDecodeError, UnicodeDecodeError) as e:
        raise InvalidArgumentError(f"{where} is not JSON: {e}") from None
    except RecursionError:
        raise InvalidArgumentError(f"{where}: its features are nested too deeply") from None


def _feature(value: Any, where: str, place: tuple[str, ...], names: Names) -> FeatureConnector:
    if not isinstance(value, Mapping):
        raise InvalidArgumentError(f"{where}: the feature {_shown(place)} must be an object, got {value!r:.80}")
    kind = value.get("pythonClassName", value.get("type"))
    if not isinstance(kind, str):
        raise InvalidArgumentError(f"{where}: the feature {_shown(place)} has no class name: {list(value)!r:.80}")
    make = KINDS.get(kind.rpartition(".")[2]) if kind.startswith(OWN) else None
    if make is None:
        raise UnimplementedError(
            f"{where}: the feature {_shown(place)} has the class {kind}, which feedline does not know; it knows "
            f"{', '.join(sorted(KINDS))} of tensorflow_datasets. Read the records of the folder with "
            "fl.TFRecordDataset and parse them with fl.io.parse_single_example"
        )
    held, newer = _content(value)
    if isinstance(held, str):
        held = json.loads(held)
    return make(Content(held, where, place, names, newer))


def _content(value: Mapping[str, Any]) -> tuple[Any, bool]:
    """What the feature is made from, and whether that has the newer form."""
    if "pythonClassName" not in value:
        return value.get("content", {}), bool(value.get("proto_cls"))
    for key, held in value.items():
        if key == "jsonFeature" and isinstance(held, Mapping):
            return held.get("json", "{}"), False
        if key not in ("pythonClassName", "description", "valueRange"):
            return held, True
    return {}, True


def _shown(place: tuple[str, ...]) -> str:
    return repr("/".join(place)) if place else "at the top"


def _dict(c: Content) -> FeatureConnector:
    held = c.values.get("features", {}) if c.newer else c.values
    if not isinstance(held, Mapping):
        raise c.wrong("features", held, "an object")
    return f.FeaturesDict({str(key): c.feature(value, str(key)) for key, value in held.items()})


def _sequence(kind: type[f.Sequence]) -> Callable[[Content], FeatureConnector]:
    def make(c: Content) -> FeatureConnector:
        length = c.integer("length")
        return kind(c.feature(c.get("feature")), None if length is None or length < 0 else length)

    return make


def _tensor(c: Content) -> FeatureConnector:
    return f.Tensor(c.shape(), c.dtype(), c.text("encoding"), bool(c.get("optional")))


def _scalar(c: Content) -> FeatureConnector:
    return f.Scalar(c.dtype(), bool(c.get("optional")))


def _label(c: Content) -> FeatureConnector:
    names = c.names()
    return f.ClassLabel(c.integer("numClasses", "num_classes"), names)


def _text(c: Content) -> FeatureConnector:
    if c.get("use_encoder"):
        raise UnimplementedError(
            f"{c.where}: the feature {_shown(c.place)} is a text that was encoded as numbers, which "
            "tensorflow_datasets no longer reads either; use the plain text version of the dataset"
        )
    return f.Text()


def _image(c: Content) -> FeatureConnector:
    return f.Image(c.shape(), c.dtype("uint8"), c.text("encodingFormat", "encoding_format"))


def _labeled_image(c: Content) -> FeatureConnector:
    label = c.get("label")
    count = Content(label, c.where, c.place, c.names_in).integer("numClasses") if label is not None else None
    return f.LabeledImage(c.names() or count, c.shape(), c.dtype("uint8"), c.text("encodingFormat", "encoding_format"))


def _video(c: Content) -> FeatureConnector:
    return f.Video(c.shape(), c.text("encodingFormat", "encoding_format"), c.dtype("uint8"))


def _audio(c: Content) -> FeatureConnector:
    return f.Audio(
        c.text("fileFormat", "file_format"),
        c.shape(),
        c.dtype("int64"),
        c.integer("sampleRate", "sample_rate"),
        c.text("encoding"),
        bool(c.get("lazyDecode", "lazy_decode")),
    )


def _box(c: Content) -> FeatureConnector:
    return f.BBoxFeature(c.text("bboxFormat", "bbox_format"))


def _languages(c: Content) -> list[str]:
    found = c.get("languages") or []
    if not isinstance(found, list) or not all(isinstance(name, str) for name in found):
        raise c.wrong("languages", found, "a list of strings")
    return found


def _translation(c: Content) -> FeatureConnector:
    return f.Translation(_languages(c))


def _translations(c: Content) -> FeatureConnector:
    return f.TranslationVariableLanguages(_languages(c))


KINDS: dict[str, Callable[[Content], FeatureConnector]] = {
    "Audio": _audio,
    "BBoxFeature": _box,
    "ClassLabel": _label,
    "Dataset": _sequence(f.Dataset),
    "FeaturesDict": _dict,
    "Image": _image,
    "LabeledImage": _labeled_image,
    "Scalar": _scalar,
    "Sequence": _sequence(f.Sequence),
    "Tensor": _tensor,
    "Text": _text,
    "Translation": _translation,
    "TranslationVariableLanguages": _translations,
    "Video": _video,
}
