"""`tfds.decode`: decoders of features, in place of the features' own."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from feedline.errors import InvalidArgumentError, InvalidTypeError
from feedline.tfds.features import FeatureConnector, FeaturesDict, Sequence

__all__ = ["Decoder", "PartialDecoding", "SkipDecoding", "make_decoder"]


class Decoder:
    """Decodes a feature: subclasses define `decode_example`, which gets the stored value; `self.feature` is the
    feature.

    >>> class Size(fl.tfds.decode.Decoder):
    ...     def decode_example(self, serialized_example):
    ...         return len(serialized_example)
    """

    feature: Any = None

    def setup(self, *, feature: FeatureConnector) -> None:
        """Called with the feature before the first value is decoded."""
        self.feature = feature

    def decode_example(self, serialized_example: Any) -> Any:
        """The decoded value."""
        raise TypeError(f"{type(self).__name__} must define decode_example")


class SkipDecoding(Decoder):
    """Leaves a feature as it is stored: an image is the bytes of its file.

    >>> fl.tfds.decode.SkipDecoding().decode_example(b"the file")
    b'the file'
    """

    def decode_example(self, serialized_example: Any) -> Any:
        """The value as it is stored."""
        return serialized_example


class DecoderFunction(Decoder):
    """A decoder made by `make_decoder`."""

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._call = function, args, kwargs

    def decode_example(self, serialized_example: Any) -> Any:
        """What the function returns for the value and the feature."""
        function, args, kwargs = self._call
        return function(serialized_example, self.feature, *args, **kwargs)


def make_decoder(output_dtype: object = None) -> Callable[[Callable[..., Any]], Callable[..., Decoder]]:
    """Makes a decoder of a function of the stored value and the feature; `output_dtype` is not needed.

    >>> @fl.tfds.decode.make_decoder()
    ... def reduced(example, feature, ratio):
    ...     return fl.io.decode_jpeg(example, channels=feature.shape[-1], ratio=ratio)
    >>> decoders = {"image": reduced(ratio=4)}
    """

    def made(function: Callable[..., Any]) -> Callable[..., Decoder]:
        @functools.wraps(function)
        def decoder(*args: Any, **kwargs: Any) -> Decoder:
            return DecoderFunction(function, args, kwargs)

        return decoder

    return made


class PartialDecoding:
    """Reads only some features: a dict of names, with True, or a dict or a list of names for those inside a feature.

    >>> part = fl.tfds.decode.PartialDecoding({"image": True, "metadata": ["height", "width"]})

    `decoders` are those for the features that are read.
    """

    def __init__(self, features: Any, decoders: Mapping[str, Any] | None = None) -> None:
        self.features, self.decoders = features, decoders

    def extract_features(self, features: FeatureConnector) -> FeatureConnector:
        """The features that are read."""
        return _part(features, self.features, ())


def _part(feature: FeatureConnector, wanted: Any, place: tuple[str, ...]) -> FeatureConnector:
    if wanted is True:
        return feature
    shown = "/".join(place) or "the dataset"
    if isinstance(wanted, FeatureConnector) and not isinstance(wanted, Mapping):
        if not isinstance(feature, type(wanted)):
            raise InvalidTypeError(f"tfds.decode.PartialDecoding: {shown} is {feature!r}, not {wanted!r}")
        return feature
    if isinstance(wanted, (list, tuple, set, frozenset)):
        wanted = dict.fromkeys(wanted, True)
    if not isinstance(wanted, Mapping):
        raise InvalidTypeError(f"tfds.decode.PartialDecoding: {shown} must be True or a dict of names, got {wanted!r}")
    if type(feature) is Sequence:
        return Sequence(_part(feature.feature, wanted, place), feature.length)
    if not isinstance(feature, FeaturesDict):
        raise InvalidArgumentError(f"tfds.decode.PartialDecoding: {shown} has no features inside, it is {feature!r}")
    chosen = {key: value for key, value in wanted.items() if value is not False}
    missing = [key for key in chosen if key not in feature]
    if missing:
        raise InvalidArgumentError(
            f"tfds.decode.PartialDecoding: {shown} has no feature {missing[0]!r}; it has {list(feature)}"
        )
    return FeaturesDict({key: _part(feature[key], value, (*place, str(key))) for key, value in chosen.items()})
