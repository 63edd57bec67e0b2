"""How the raw messages of a bag become messages: its own type definitions, or those given."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from rosbags.interfaces import MessageDefinition, MessageDefinitionFormat, Nodetype
from rosbags.typesys import (
    Stores,
    get_types_from_idl,
    get_types_from_msg,
    get_typestore,
)
from rosbags.typesys.store import Typestore

from rffpsr_ros.errors import InputError, did_you_mean, plain, shown
from rffpsr_ros.recordings.bags.definition_limits import check_text, check_types
from rffpsr_ros.recordings.bags.message_layout import QuickDecode
from rffpsr_ros.recordings.bags.source import BagTopic
from rffpsr_ros.signals.stamps import Stamp, receive_time, stamp_of, stamp_of_cdr, stamp_of_ros1
from rffpsr_ros.signals.tracks import Decode

ROS_DISTROS = {store.value.split("_", 1)[1]: store for store in Stores if "_" in store.value}
"""The distributions whose message definitions are known, by name."""


class MessageTypes:
    """The message types that are known without looking into a bag.

    Parameters
    ----------
    ros_distro
        The distribution that recorded bags without type definitions, such as ``humble``.
    message_paths
        .msg or .idl files, or folders searched for them (``package/msg/Name.msg``).

    Raises
    ------
    InputError
        If the distribution is unknown, or a path holds no definitions or malformed ones.
    """

    def __init__(
        self, ros_distro: str | None = None, message_paths: Sequence[str | Path] = ()
    ) -> None:
        if ros_distro is not None and ros_distro not in ROS_DISTROS:
            raise InputError(
                f"ROS distribution '{ros_distro}' is unknown{did_you_mean(ros_distro, ROS_DISTROS)}"
            )
        self._distro = ros_distro
        self._stores: dict[Any, Typestore] = {}
        self._custom: dict[str, Any] = {}
        for path in message_paths:
            self._custom.update(_definitions_below(Path(path)))

    def store_for(self, topics: Sequence[BagTopic], bag: str, ros_distro: str | None) -> Typestore:
        """Return the types of some topics of a bag, from its own definitions where it has them.

        Raises
        ------
        InputError
            If the bag does not define a type and nothing else does.
        """
        key = (ros_distro, tuple((topic.type, topic.definition) for topic in topics))
        if key not in self._stores:
            self._stores[key] = self._new_store(topics, bag, ros_distro)
        return self._stores[key]

    def _new_store(self, topics: Sequence[BagTopic], bag: str, ros_distro: str | None) -> Typestore:
        defined = [
            topic for topic in topics if topic.definition.format is not MessageDefinitionFormat.NONE
        ]
        known: dict[str, Any] = {}
        for topic in defined:
            check_text(topic.definition, topic.type, bag)
            try:
                known.update(_parse(topic.definition, topic.type))
            except Exception as problem:  # Malformed ones fail in many ways.
                raise InputError(
                    f"the definition of {shown(topic.type)} in {bag} cannot be understood:"
                    f" {_first_words(problem)}"
                ) from None
        if len(defined) < len(topics):
            known = {**self._fallback(ros_distro), **known}
        for topic in topics:
            if topic.type not in known:
                raise InputError(self._unknown(topic, bag))
            check_types(known, topic.type, bag)
        try:
            store = _store(known)
        except Exception as problem:  # Names that are none in Python, or that clash.
            raise InputError(
                f"the message definitions in {bag} cannot be used: {_first_words(problem)}"
            ) from None
        for topic in topics:
            try:
                store.get_msgdef(topic.type)
            except KeyError as missing:
                raise InputError(
                    f"{topic.type} in {bag} refers to a type that is not defined, {missing}; give"
                    " the folder with its .msg file by --msg-path"
                ) from None
            except Exception as problem:  # Malformed definitions fail in many ways.
                raise InputError(
                    f"the definition of {shown(topic.type)} in {bag} cannot be used:"
                    f" {_first_words(problem)}"
                ) from None
        return store

    def _fallback(self, ros_distro: str | None) -> dict[str, Any]:
        distro = self._distro or ros_distro
        if distro in ROS_DISTROS:
            base = dict(get_typestore(ROS_DISTROS[distro]).fielddefs)
        elif self._custom:
            base = dict(get_typestore(Stores.LATEST).fielddefs)
        else:
            base = {}
        return {**base, **self._custom}

    def _unknown(self, topic: BagTopic, bag: str) -> str:
        where = f"{bag} does not define {plain(topic.type)} (topic {plain(topic.name)})"
        package = plain(topic.type.split("/")[0])
        if self._distro is None and f"{topic.type}" in get_typestore(Stores.LATEST).fielddefs:
            return f"{where}; say which distribution recorded it, as in --ros-distro humble"
        return f"{where}; give the folder with {package}/msg/*.msg by --msg-path"


def decoder(store: Typestore, type_name: str, encoding: Literal["cdr", "ros1"]) -> Decode:
    """Return a function from raw bytes to a message; it returns None for damaged bytes.

    Bytes after the message are ignored: some writers pad.
    """
    definition = store.get_msgdef(type_name)
    message_class = definition.cls
    if encoding == "ros1":
        from_ros1 = definition.deserialize_ros1

        def decode_ros1(raw: Any) -> Any:
            try:
                return from_ros1(raw, 0, message_class, store)[0]
            except Exception:  # Damaged bytes fail in many ways.
                return None

        return decode_ros1
    little, big = definition.deserialize_cdr_le, definition.deserialize_cdr_be

    def decode_cdr(raw: Any) -> Any:
        try:
            function = little if raw[1] else big
            return function(raw[4:], 0, message_class, store)[0]
        except Exception:  # Damaged bytes fail in many ways.
            return None

    return QuickDecode(decode_cdr, store, type_name)


def stamp_reader(store: Typestore, type_name: str, encoding: str, stamps: str) -> Stamp | None:
    """Return how to read a raw message's stamp; None if that takes decoding it.

    ``stamps`` is ``header`` or ``receive``, as in the channel configuration.
    """
    fields = store.fielddefs[type_name][1]
    headers = [
        number
        for number, (name, kind) in enumerate(fields)
        if name == "header" and kind == (Nodetype.NAME, "std_msgs/msg/Header")
    ]
    if stamps == "receive" or not headers:
        return receive_time
    if headers[0] > 0:
        return None
    return stamp_of_ros1 if encoding == "ros1" else stamp_of_cdr


def decoded_stamp(message: Any, receive_ns: int) -> int:
    """Return the stamp of a decoded message that may be None."""
    return receive_ns if message is None else stamp_of(message, receive_ns)


def _first_words(problem: Exception) -> str:
    """Return what a library says on one line; some quote the whole text."""
    text = " ".join(str(problem).split()) or type(problem).__name__
    return text if len(text) <= 200 and text.isprintable() else shown(text, 200)


def _parse(definition: MessageDefinition, type_name: str) -> dict[str, Any]:
    if definition.format is MessageDefinitionFormat.MSG:
        return dict(get_types_from_msg(definition.data, type_name))
    separator = "=" * 80 + "\n"
    types: dict[str, Any] = {}
    if not definition.data.startswith(f"{separator}IDL: "):
        return dict(get_types_from_idl(definition.data))
    for part in definition.data.split(separator)[1:]:
        types.update(get_types_from_idl(part.split("\n", 1)[1]))
    return types


def _store(types: dict[str, Any]) -> Typestore:
    store = get_typestore(Stores.EMPTY)
    store.register({name: fields for name, fields in types.items() if name not in store.fielddefs})
    return store


def _definitions_below(path: Path) -> dict[str, Any]:
    files = [path] if path.is_file() else sorted([*path.rglob("*.msg"), *path.rglob("*.idl")])
    if not files:
        raise InputError(f"message path {path} holds no .msg or .idl file")
    types: dict[str, Any] = {}
    for file in files:
        package = file.parent.parent if file.parent.name == "msg" else file.parent
        try:
            text = file.read_text(encoding="utf-8")
            kind = "IDL" if file.suffix == ".idl" else "MSG"
            check_text(MessageDefinition(MessageDefinitionFormat[kind], text), file.stem, str(file))
            if file.suffix == ".idl":
                types.update(get_types_from_idl(text))
            else:
                types.update(get_types_from_msg(text, f"{package.name}/msg/{file.stem}"))
        except InputError:
            raise
        except Exception as problem:  # Malformed ones fail in many ways.
            raise InputError(
                f"message definition {file} cannot be read: {_first_words(problem)}"
            ) from None
    return types
