"""Protobuf's message classes for the few messages of `tf.train`, without protobuf.

A class lists its fields, each of which is one of

    Repeated  a list of numbers or bytes
    Sub       one message inside another
    Messages  a list of messages
    MapField  messages under string keys

A message made in one go may be stored as its bytes only (`serialized`) until it is accessed. The first access to one of
its other slots, which do not exist until then, decodes it.

Threads may read a message concurrently, and one may modify it while others read: they see it with a change or without,
as long as the change is one call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

from feedline import wire
from feedline.errors import InvalidArgumentError
from feedline.kernels.lazy_message import LazyMessage
from feedline.sharing import Guard
from feedline.train.containers import MessageList, MessageMap, Scalar, Values, escaped
from feedline.wire import DELIMITED, WireError


class Field:
    """One field of a message class. Reading it returns its content, which is modified in place, never assigned."""

    def __init__(self, number: int, kind: Any) -> None:
        self.number, self.kind = number, kind
        self.name = ""

    def __set_name__(self, owner: type[Message], name: str) -> None:
        self.name = name
        owner._fields = {**owner._fields, name: self}
        owner._numbered = {**owner._numbered, self.number: self}

    def __get__(self, message: Message | None, owner: type[Message]) -> Any:
        return self if message is None else self.held(message)

    def __set__(self, message: Message, value: object) -> None:
        how = "CopyFrom" if isinstance(self, Sub) else "extend, or [:] ="
        raise AttributeError(f"{type(message).__name__}.{self.name} cannot be assigned; change it in place, with {how}")

    def held(self, message: Message) -> Any:
        """The message's content of this field, created on demand."""
        found = message._held.get(self.name)
        return message._held.setdefault(self.name, self.empty(message)) if found is None else found

    def changed(self, message: Message) -> Callable[[], None]:
        """The callback for changes of this field's content."""
        return message.SetInParent

    def empty(self, message: Message) -> Any:
        """The initial content of the field."""
        raise TypeError(f"{type(self).__name__} must define empty")

    def is_set(self, held: Any) -> bool:
        """Whether there is something to write."""
        return len(held) > 0

    def parse(self, message: Message, kind: int, value: object, data: bytes) -> bool:
        """Adds a value from the wire; False for a wire type that this field cannot have."""
        raise TypeError(f"{type(self).__name__} must define parse")

    def serialize(self, held: Any) -> bytes:
        """The field on the wire."""
        raise TypeError(f"{type(self).__name__} must define serialize")

    def text(self, held: Any, indent: str) -> str:
        """The field as protobuf prints it."""
        raise TypeError(f"{type(self).__name__} must define text")


class Repeated(Field):
    """A list of numbers or bytes."""

    kind: Scalar

    def empty(self, message: Message) -> Values:
        """An empty list."""
        return Values(self.kind, self.changed(message))

    def parse(self, message: Message, kind: int, value: object, data: bytes) -> bool:
        """One value, or many in packed form."""
        found = self.kind.read(kind, value, data)
        if found is not None:
            self.held(message)._items.extend(found)
        return found is not None

    def serialize(self, held: Values) -> bytes:
        """Numbers packed, strings one by one."""
        return self.kind.write(self.number, held._items.copy())

    def text(self, held: Values, indent: str) -> str:
        """A line per value."""
        return "".join(f"{indent}{self.name}: {self.kind.text(v)}\n" for v in held)


class Sub(Field):
    """One message inside another. It counts as absent until it is modified."""

    def empty(self, message: Message) -> Message:
        """An empty message that is still absent."""
        made: Message = self.kind()
        made._present = False
        made._listen(self.changed(message))
        return made

    def changed(self, message: Message) -> Callable[[], None]:
        """A callback that marks the message as present."""
        return lambda: message._appeared(self)

    def is_set(self, held: Message) -> bool:
        """Whether the message is present, empty or not."""
        return held._present

    def parse(self, message: Message, kind: int, value: Any, data: bytes) -> bool:
        """Merges into the existing message."""
        if kind == DELIMITED:
            held = self.held(message)
            held.SetInParent()
            held._parse(data, *value)
        return kind == DELIMITED

    def serialize(self, held: Message) -> bytes:
        """The message, preceded by its length."""
        return wire.delimited(self.number, held.SerializeToString())

    def text(self, held: Message, indent: str) -> str:
        """Lines in braces."""
        return f"{indent}{self.name} {{\n{held._text(indent + '  ')}{indent}}}\n"


class Messages(Field):
    """A list of messages."""

    def empty(self, message: Message) -> MessageList:
        """An empty list."""
        return MessageList(self.kind, self.changed(message))

    def parse(self, message: Message, kind: int, value: Any, data: bytes) -> bool:
        """Adds one message."""
        if kind == DELIMITED:
            self.held(message).add()._parse(data, *value)
        return kind == DELIMITED

    def serialize(self, held: MessageList) -> bytes:
        """The messages, each preceded by its length."""
        return b"".join(wire.delimited(self.number, m.SerializeToString()) for m in held._items.copy())

    def text(self, held: MessageList, indent: str) -> str:
        """Each message in braces."""
        return "".join(f"{indent}{self.name} {{\n{m._text(indent + '  ')}{indent}}}\n" for m in held)


class MapField(Field):
    """Messages under string keys, which are written and printed in the order of their bytes."""

    def empty(self, message: Message) -> MessageMap:
        """An empty map."""
        return MessageMap(self.kind, self.changed(message))

    def parse(self, message: Message, kind: int, value: Any, data: bytes) -> bool:
        """Adds one entry; of several with the same key the last one counts."""
        if kind == DELIMITED:
            key, made = "", self.kind()
            for number, inner, span, _, _ in wire.fields(data, *value):
                if inner == DELIMITED and number == 1:
                    key = _utf8(data[span[0] : span[1]])
                elif inner == DELIMITED and number == 2:
                    made._parse(data, *span)
            self.held(message)._put(key, made)
        return kind == DELIMITED

    def serialize(self, held: MessageMap) -> bytes:
        """An entry per key."""
        return b"".join(
            wire.delimited(self.number, wire.delimited(1, key) + wire.delimited(2, value.SerializeToString()))
            for key, value in _in_order(held)
        )

    def text(self, held: MessageMap, indent: str) -> str:
        """Each entry in braces."""
        out = ""
        for key, value in _in_order(held):
            out += f'{indent}{self.name} {{\n{indent}  key: "{escaped(key, True)}"\n'
            out += f"{indent}  value {{\n{value._text(indent + '    ')}{indent}  }}\n{indent}}}\n"
        return out


def _in_order(held: MessageMap) -> list[tuple[bytes, Message]]:
    return sorted((key.encode(), value) for key, value in held._items.copy().items())


_opening = Guard()


def _utf8(key: bytes) -> str:
    try:
        return key.decode()
    except UnicodeDecodeError:
        raise WireError(f"the key {key!r} is not valid UTF-8") from None


class Message(LazyMessage):
    """The base of the message classes; the methods are protobuf's.

    >>> feature = fl.train.Feature()
    >>> feature.int64_list.value.extend([1, 2])
    >>> feature.SerializeToString()
    b'\\x1a\\x04\\n\\x02\\x01\\x02'
    >>> fl.train.Feature.FromString(b'\\x1a\\x04\\n\\x02\\x01\\x02') == feature
    True
    >>> feature
    int64_list {
      value: 1
      value: 2
    }
    <BLANKLINE>
    """

    __slots__ = ("_changed", "_held", "_present", "_unknown")
    _fields: ClassVar[dict[str, Field]] = {}
    _numbered: ClassVar[dict[int, Field]] = {}
    _oneof: ClassVar[str] = ""
    """The name of the oneof that all fields of the class belong to."""

    _held: dict[str, Any]
    _present: bool
    _unknown: bytes
    _changed: Callable[[], None] | None

    def _empty(self) -> None:
        self._held, self._present, self._unknown, self._changed = {}, True, b"", None

    def __getattr__(self, name: str) -> Any:
        data = self.serialized
        if data is not None and name in Message.__slots__:
            self._open(data)
        return object.__getattribute__(self, name)

    def _open(self, data: bytes) -> None:
        """Decodes the bytes into the slots. Threads may do so concurrently: the first to finish wins, and no thread
        sees a partly decoded message.
        """
        made = type(self).__new__(type(self))
        made._empty()
        made._parse(data, 0, len(data))
        with _opening:
            if self.serialized is None:
                return
            for name, held in made._held.items():
                held._listen(self._fields[name].changed(self))
            self._present, self._unknown, self._changed = True, made._unknown, None
            self._held = made._held
            self.serialized = None

    def _build(self, **values: Any) -> None:
        self._empty()
        for name, value in values.items():
            field = self._field(name)
            if value is None:
                continue
            held = field.held(self)
            if isinstance(field, Sub):
                held.SetInParent()
                value = field.kind(**value) if isinstance(value, Mapping) else value
            held.MergeFrom(value)

    def _field(self, name: str) -> Field:
        found = self._fields.get(name)
        if found is None:
            raise ValueError(f"{type(self).__name__} has no field {name!r}; it has {', '.join(self._fields)}")
        return found

    def _listen(self, changed: Callable[[], None]) -> None:
        """Registers a callback for changes of this message or of something in it."""
        self._changed = changed

    def _appeared(self, field: Sub) -> None:
        """Marks a submessage as present; if the fields are a oneof, the others become absent."""
        if self._oneof:
            for name in self._held.copy().keys() - {field.name}:
                other = self._held.pop(name, None)
                if other is not None:
                    other._changed = None
        self.SetInParent()

    def _set_fields(self) -> list[tuple[Field, Any]]:
        found = self._held
        return [
            (field, held)
            for name, field in self._fields.items()
            if (held := found.get(name)) is not None and field.is_set(held)
        ]

    def SetInParent(self) -> None:
        """Marks this message as present in its parent, even if it is empty."""
        self._present = True
        if self._changed is not None:
            self._changed()

    def HasField(self, field_name: str) -> bool:
        """Whether the message in this field is present."""
        if self._oneof and field_name == self._oneof:
            return bool(self._set_fields())
        if not isinstance(self._field(field_name), Sub):
            raise ValueError(f"{type(self).__name__}.{field_name} is a list or map; check its length")
        return any(field.name == field_name for field, _ in self._set_fields())

    def WhichOneof(self, oneof_group: str) -> str | None:
        """The name of the oneof field that is present, None if none is."""
        if not self._oneof or oneof_group != self._oneof:
            raise ValueError(f"{type(self).__name__} has no oneof {oneof_group!r}")
        return next((field.name for field, _ in self._set_fields()), None)

    def ListFields(self) -> list[tuple[Field, Any]]:
        """The fields that are present, with their contents."""
        return self._set_fields()

    def Clear(self) -> None:
        """Empties the message."""
        self._held.clear()
        self._unknown = b""
        self.SetInParent()

    def ClearField(self, field_name: str) -> None:
        """Empties one field."""
        names = list(self._fields) if self._oneof and field_name == self._oneof else [self._field(field_name).name]
        for name in names:
            self._held.pop(name, None)
        self.SetInParent()

    def MergeFrom(self, other: object) -> None:
        """Adds another message's fields: lists grow, entries of maps are replaced."""
        if type(other) is not type(self):
            raise TypeError(f"expected a {type(self).__name__}, got {other!r} of type {type(other).__name__}")
        for field, held in other._set_fields():
            mine = field.held(self)
            if isinstance(field, Sub):
                mine.SetInParent()
            mine.MergeFrom(held)
        self._unknown += other._unknown
        self.SetInParent()

    def CopyFrom(self, other: object) -> None:
        """Makes this message equal to another one."""
        if other is not self:
            if type(other) is not type(self):
                raise TypeError(f"expected a {type(self).__name__}, got {other!r} of type {type(other).__name__}")
            self.Clear()
            self.MergeFrom(other)

    def SerializeToString(self, deterministic: bool | None = None) -> bytes:
        """Serializes the message. Equal messages have equal bytes, with or without `deterministic`."""
        data = self.serialized
        if data is not None:
            return data
        return b"".join([*(field.serialize(held) for field, held in self._set_fields()), self._unknown])

    SerializePartialToString = SerializeToString

    def ByteSize(self) -> int:
        """The length of the serialized message."""
        return len(self.SerializeToString())

    def MergeFromString(self, serialized: Any) -> int:
        """Merges the fields of a serialized message; returns the number of bytes."""
        if isinstance(serialized, str):
            raise TypeError("a serialized message must be bytes, got a str")
        data = bytes(serialized)
        try:
            self._parse(data, 0, len(data))
        except WireError as e:
            raise InvalidArgumentError(f"the bytes are not a serialized {type(self).__name__}: {e}") from None
        self.SetInParent()
        return len(data)

    def ParseFromString(self, serialized: object) -> int:
        """Replaces the content by that of a serialized message; returns the number of bytes."""
        self.Clear()
        return self.MergeFromString(serialized)

    @classmethod
    def FromString(cls, s: object) -> Self:
        """Parses a serialized message."""
        made = cls()
        made.MergeFromString(s)
        return made

    def IsInitialized(self) -> bool:
        """True: these messages have no required fields."""
        return True

    def _parse(self, data: bytes, start: int, end: int) -> None:
        for number, kind, value, begin, after in wire.fields(data, start, end):
            field = self._numbered.get(number)
            if field is None or not field.parse(self, kind, value, data):
                self._unknown += data[begin:after]

    def _text(self, indent: str) -> str:
        return "".join(field.text(held, indent) for field, held in self._set_fields())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Message) or type(other) is not type(self):
            return False
        return self._set_fields() == other._set_fields() and self._unknown == other._unknown

    def __repr__(self) -> str:
        return self._text("")

    def __reduce__(self) -> Any:
        return type(self).FromString, (self.SerializeToString(),)

    def __deepcopy__(self, memo: object) -> Self:
        return type(self).FromString(self.SerializeToString())
