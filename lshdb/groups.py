"""Groups of options: what an option is, its checks, and methods that have a group as arguments.

A group is a frozen dataclass. A field is an option, with its type and default; an `Option` beside
the type adds the range, one line of help, and how the command line writes it. A method that `takes`
a group has its fields as arguments, or the group itself. A command whose parameter is a group has
its options (lshdb.cli.running). All groups are in lshdb.options.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field
from functools import cache, partial, wraps
from inspect import Parameter, Signature, cleandoc, get_annotations, signature
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import (
    Any,
    ClassVar,
    Final,
    Literal,
    ParamSpec,
    Protocol,
    TypeAlias,
    TypeVar,
    Union,
    cast,
    dataclass_transform,
    get_args,
    get_origin,
    overload,
)

from lshdb.errors import UsageError

Kind: TypeAlias = tuple[str, Callable[[object], bool]]
"""What the values of a type are called in messages, and whether a value is one."""

_P = ParamSpec("_P")
_Self = TypeVar("_Self")
_Group = TypeVar("_Group")
_Other = TypeVar("_Other", bound="Options")
_Result = TypeVar("_Result")
_Subject = TypeVar("_Subject", contravariant=True)
_Given = TypeVar("_Given", contravariant=True)
_Returned = TypeVar("_Returned", covariant=True)


@dataclass(frozen=True, slots=True)
class Option:
    """What is known of an option besides its name, type and default.

    Attributes:
        help: one line, for people who type it and for people who call it.
        min: the smallest value.
        above: values are greater than this.
        max: the largest value.
        metavar: what stands for a value in help pages.
        flags: how the command line writes it; --NAME if empty, or --no-NAME where the default is
            True.
        parse: makes the value of a text from the command line, or raises ValueError.
        shown: whether help pages add the default, which is not in `help`.
        of_command: whether commands have it; else it is for Python only.
        kind: of its values, if its type is only known to type checkers.
    """

    help: str
    min: float | None = None
    above: float | None = None
    max: float | None = None
    metavar: str | None = None
    flags: tuple[str, ...] = ()
    parse: Callable[[str], Any] | None = None
    shown: bool = True
    of_command: bool = True
    kind: Kind | None = None

    def wrong(self, value: Any) -> str:
        """What is wrong with a number; empty if it is in the range."""
        low = self.min if self.above is None else self.above
        if (
            (low is None or value > low or (value == low and self.above is None))
            and (self.max is None or value <= self.max)
        ):  # fmt: skip
            return ""
        if self.max is None:
            return f"is below {low:g}"
        if self.above is not None:
            return f"is not above {low:g} and at most {self.max:g}"
        return f"is not from {low:g} to {self.max:,.10g}"


def argument(help: str, kind: Kind | None = None) -> Option:
    """The `Option` of an argument of Python only, such as a function to call."""
    return Option(help, of_command=False, kind=kind)


class _Signature:
    """The signature of a group's constructor."""

    def __get__(self, instance: object, owner: type[Options]) -> Signature:
        return Signature(
            [
                Parameter(one.name, _kind_of(one), default=_default_of(one), annotation=one.type)
                for one in sorted(fields_of(owner), key=_kind_of)
            ]
        )


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
class Options:
    """A group of options, each with a value of its type and in its range.

    A group is what a frozen dataclass is, but made in a tenth of the time: to make 40 classes by
    the decorator takes 17 ms, an eighth of a query from the command line.

    Raises:
        UsageError: one has another value; the message names it.
    """

    error: ClassVar[type[UsageError]] = UsageError
    """The kind of error."""
    __dataclass_fields__: ClassVar[dict[str, Field[Any]]] = {}
    __signature__: ClassVar[Any] = _Signature()

    def __init_subclass__(cls) -> None:
        found: dict[str, Field[Any]] = {}
        for base in reversed(cls.__mro__[1:]):
            found |= vars(base).get("__dataclass_fields__", {})
        for name, annotation in get_annotations(cls).items():
            if hasattr(annotation, "__metadata__"):  # not a ClassVar
                default = vars(cls)[name]
                one = default if isinstance(default, Field) else field(default=default)
                one.name, one.type = name, annotation
                setattr(cls, name, one.default)
                found[name] = one
        cls.__dataclass_fields__ = found

    def __init__(self, *args: Any, **given: Any) -> None:
        every = self.__dataclass_fields__
        first = [name for name, one in every.items() if one.kw_only is False]
        if len(args) > len(first):
            raise TypeError(f"{type(self).__name__} takes {len(first)} values without a name")
        values = dict(zip(first, args, strict=False))
        for name, value in given.items():
            if name in values or name not in every:
                what = "is given twice" if name in values else "is not one of its options"
                raise TypeError(f"{type(self).__name__}: {name} {what}")
            values[name] = value
        self.__dict__.update(values)
        self.__post_init__()

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen: use dataclasses.replace")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and _values(self) == _values(other)

    def __hash__(self) -> int:
        return hash((type(self), *map(repr, _values(self).values())))

    def __repr__(self) -> str:
        given = (f"{name}={value!r}" for name, value in _values(self).items())
        return f"{type(self).__name__}({', '.join(given)})"

    def __post_init__(self) -> None:
        for name, default, optional, (what, fits), option in _checks(cast(Any, type(self))):
            value = getattr(self, name)
            if value is MISSING:
                raise TypeError(f"{type(self).__name__}: {name} is missing")
            if value is default or (optional and value is None):
                continue
            if not fits(value):
                raise self.error(f"{name} {value!r:.100} is not {what}")
            if isinstance(value, Real) and (wrong := option.wrong(value)):
                raise self.error(f"{name} {value:g} {wrong}")


def fields_of(group: Any) -> list[Field[Any]]:
    """The options of a group, in order."""
    return [*group.__dataclass_fields__.values()]


def _values(options: Any) -> dict[str, object]:
    return {one.name: getattr(options, one.name) for one in fields_of(options)}


def _default_of(one: Field[Any]) -> Any:
    return Parameter.empty if one.default is MISSING else one.default


def _kind_of(one: Field[Any]) -> Any:
    return Parameter.POSITIONAL_OR_KEYWORD if one.kw_only is False else Parameter.KEYWORD_ONLY


@cache
def declared(group: Any) -> dict[str, tuple[Any, Option]]:
    """The type and the declaration of each option of a group."""
    return {one.name: (get_args(one.type)[0], get_args(one.type)[1]) for one in fields_of(group)}


@cache
def _checks(group: Any) -> list[tuple[str, object, bool, Kind, Option]]:
    checks = []
    for one in fields_of(group):
        annotation, option = declared(group)[one.name]
        optional = one.default is None
        checks.append((one.name, one.default, optional, option.kind or _kind(annotation), option))
    return checks


def named_kind(annotation: Any, option: Option) -> str:
    """What the values of an option are called, with their range."""
    what = option.metavar or (option.kind or _kind(annotation))[0]
    low, high = (option.min if option.above is None else option.above), option.max
    if low is not None:
        what += f" above {low:g}" if option.above is not None else f" from {low:g}"
    return what if high is None else f"{what} to {high:,.10g}"


def without_none(annotation: Any) -> Any:
    """A type without None."""
    if get_origin(annotation) not in (Union, UnionType):
        return annotation
    return Union[tuple(one for one in get_args(annotation) if one is not NoneType)]  # noqa: UP007


_QUOTED_FUNCTION: Final = "ForwardRef('Callable["
_ANYTHING: Final[Kind] = ("", lambda _: True)
"""Of a type that is only known to type checkers, or that the function itself checks."""


def _kind(annotation: Any) -> Kind:
    """What the values of a type are called, and how to tell."""
    annotation = without_none(annotation)
    origin = get_origin(annotation)
    if annotation in _KINDS:
        return _KINDS[annotation]
    if origin is Literal:
        *others, last = choices = get_args(annotation)
        what = f"{', '.join(others)} or {last}" if others else last
        return what, lambda value: isinstance(value, str) and value in choices
    if origin in (Union, UnionType):
        kinds = [_kind(one) for one in get_args(annotation)]
        what = " or ".join(dict.fromkeys(what for what, _ in kinds))
        return what, lambda value: any(fits(value) for _, fits in kinds)
    if origin is Sequence and get_args(annotation) == (str,):
        return _KINDS[Iterable[str]]
    if origin in (Iterable, Sequence):
        return "a list or another iterable", _is_stream
    if origin is Callable or str(annotation).startswith(_QUOTED_FUNCTION):
        return "a function", callable
    if isinstance(annotation, type) and annotation.__module__.startswith("lshdb."):
        what = (
            "an open database"
            if annotation.__name__ == "Opened"
            else f"a lshdb.{annotation.__name__}"
        )
        return what, lambda value: isinstance(value, annotation)
    return _ANYTHING


def _is_file_name(value: object) -> bool:
    try:
        name = os.fspath(value)  # type: ignore[call-overload]
        return isinstance(name, str) and b"\0" not in os.fsencode(name) and name != ":memory:"
    except (TypeError, UnicodeEncodeError):
        return False


def _is_stream(value: object) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str | bytes | bytearray)


def _are_texts(value: object) -> bool:
    if not isinstance(value, Collection) or not _is_stream(value):
        return _is_stream(value)
    return all(isinstance(one, str) for one in value)


_KINDS: Final[dict[object, Kind]] = {
    int: ("an integer", lambda value: isinstance(value, Integral)),
    float: ("a number", lambda value: isinstance(value, Real)),
    str: ("a text", lambda value: isinstance(value, str)),
    bool: ("true or false", lambda value: isinstance(value, bool)),
    Iterable[str]: ("texts in a list or another iterable", _are_texts),
    str | os.PathLike[str]: ("the name of a file", _is_file_name),
}


def regrouped(options: Options, group: type[_Other], **others: Any) -> _Other:
    """Another group with those options that both have, and others."""
    names = {one.name for one in fields_of(group)}
    both = {name: value for name, value in _values(options).items() if name in names}
    return group(**both | others)


# functions and methods whose arguments are a group


class Called(Protocol[_P, _Given, _Returned]):
    """A function that takes the options of a group one by one, or the group."""

    @overload
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _Returned: ...
    @overload
    def __call__(self, options: _Given, /) -> _Returned: ...


class Taking(Protocol[_Subject, _P, _Given, _Returned]):
    """A function that takes them after its subject; as a method, whose subject is the object."""

    @overload
    def __call__(self, subject: _Subject, /, *args: _P.args, **kwargs: _P.kwargs) -> _Returned: ...
    @overload
    def __call__(self, subject: _Subject, options: _Given, /) -> _Returned: ...
    def __get__(
        self, instance: object, owner: type | None = None, /
    ) -> Called[_P, _Given, _Returned]: ...


class MethodWith(Protocol[_Subject, _P, _Given, _Returned]):
    """A method that takes them after another argument."""

    def __get__(
        self, instance: object, owner: type | None = None, /
    ) -> Taking[_Subject, _P, _Given, _Returned]: ...


def takes(
    group: Callable[_P, _Group],
) -> Callable[[Callable[[_Subject, _Group], _Result]], Taking[_Subject, _P, _Group, _Result]]:
    """Give a method or a function the options of a group as arguments, which it gets as one object.

    Its signature shows all of them, and its docstring gets a line for each. A method has no other
    argument, a function one.
    """
    return partial(_taking, group)


def takes_with(
    group: Callable[_P, _Group],
) -> Callable[
    [Callable[[_Self, _Subject, _Group], _Result]], MethodWith[_Subject, _P, _Group, _Result]
]:
    """The same for a method with one other argument before them."""
    return partial(_taking, group)


def takes_only(
    group: Callable[_P, _Group],
) -> Callable[[Callable[[_Group], _Result]], Called[_P, _Group, _Result]]:
    """The same for a function without another argument."""
    return partial(_taking, group)


def checked(function: Callable[_P, _Result]) -> Callable[_P, _Result]:
    """Check the types of a function's arguments by its annotations.

    Raises:
        UsageError: an argument has another type; the message names it.
    """
    check = _check_of(function)

    @wraps(function)
    def call(*args: _P.args, **given: _P.kwargs) -> _Result:
        check(args, given)
        return function(*args, **given)

    return call


def _check_of(function: Callable[..., Any]) -> Callable[[Sequence[Any], Mapping[str, Any]], None]:
    """What raises UsageError for arguments that do not fit a function's annotations."""
    parameters = signature(function).parameters

    @cache
    def kinds() -> dict[str, tuple[bool, Kind]]:
        types = {name: _evaluated(one.annotation, function) for name, one in parameters.items()}
        return {name: (NoneType in get_args(one), _kind(one)) for name, one in types.items()}

    def check(args: Sequence[Any], given: Mapping[str, Any]) -> None:
        for name, value in [*zip(parameters, args, strict=False), *given.items()]:
            optional, (what, fits) = kinds().get(name, (True, _ANYTHING))
            if not fits(value) and not (optional and value is None):
                raise UsageError(f"{name} {value!r:.100} is not {what}")

    return check


def _evaluated(annotation: Any, function: Callable[..., Any]) -> Any:
    if not isinstance(annotation, str):
        return annotation
    try:
        return eval(annotation, function.__globals__)  # of our own source
    except (NameError, TypeError):
        return Any  # a type that is only known to type checkers


def _taking(group: Any, function: Callable[..., Any]) -> Any:
    own = signature(function)
    *before, _ = own.parameters.values()
    first = len(before)
    check = _check_of(function)

    @wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        args = (
            *args,
            *(options.pop(one.name) for one in before[len(args) :] if one.name in options),
        )
        if len(args) < first:
            raise TypeError(f"{function.__name__}: {before[len(args)].name} is missing")
        check(args[:first], {})
        if len(args) == first + 1 and not options and type(args[first]) is group:
            return function(*args)
        return function(*args[:first], group(*args[first:], **options))

    given = [
        one.replace(annotation=get_args(one.annotation)[0])
        for one in signature(group).parameters.values()
    ]
    call.__signature__ = own.replace(parameters=[*before, *given])  # type: ignore[attr-defined]
    call.__doc__ = _with_arguments(function.__doc__ or "", group)
    return call


def _with_arguments(text: str, group: Any) -> str:
    """A docstring with a line for each option, before its other sections."""
    lines = [f"    {name}: {one.help}" for name, (_, one) in declared(group).items()]
    paragraphs = cleandoc(text).split("\n\n")
    later = ("Returns:", "Yields:", "Raises:", "Warns:", ">>>")
    place = next((n for n, one in enumerate(paragraphs) if one.startswith(later)), len(paragraphs))
    if place and paragraphs[place - 1].startswith("Args:"):
        paragraphs[place - 1] += "\n" + "\n".join(lines)
    else:
        paragraphs.insert(place, "\n".join(["Args:", *lines]))
    return "\n\n".join(paragraphs)
