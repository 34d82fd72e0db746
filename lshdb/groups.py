"""Groups of options: what an option is, its checks, and methods that have a group as arguments.

A group is a dataclass. A field is an option, with its type and default; an `Option` beside the type
adds the range, one line of help, and how the command line writes it. A method that `takes` a group
has its fields as arguments, or the group itself. A command whose parameter is a group has its
options (lshdb.cli.running). All groups of the library are in lshdb.options.
"""

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields
from functools import cache, partial, wraps
from inspect import Parameter, Signature, cleandoc, get_annotations, signature
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import (
    Any,
    ClassVar,
    Literal,
    ParamSpec,
    Protocol,
    TypeVar,
    Union,
    dataclass_transform,
    get_args,
    get_origin,
    overload,
)

from lshdb.errors import UsageError

Kind = tuple[str, Callable[[object], bool]]
"""What the values of a type are called in messages, and whether a value is one."""

_P = ParamSpec("_P")
_Self = TypeVar("_Self")
_Group = TypeVar("_Group")
_Other = TypeVar("_Other", bound="Options")
_Result = TypeVar("_Result")
_Subject = TypeVar("_Subject", contravariant=True)
_Given = TypeVar("_Given", contravariant=True)
_Returned = TypeVar("_Returned", covariant=True)


@dataclass(frozen=True)
class Option:
    """What is known of an option besides its name, type and default.

    Attributes:
        help: one line, for people who type it and for people who call it. Help pages add the
            default, unless it says something of a default.
        min: the smallest value.
        above: values are greater than this.
        max: the largest value.
        metavar: what stands for a value in help pages.
        flags: how the command line writes it; --NAME if empty, or --no-NAME where the default is
            True.
        parse: makes the value of a text from the command line, or raises ValueError.
        variable: the environment variable that also gives it to a command.
        of_command: whether commands have it; else it is for Python only.
        kind: of its values, if its type is only known to type checkers.
        convert: makes a value of its type of what a program gives, from its name and that value,
            or raises UsageError.
    """

    help: str
    min: float | None = None
    above: float | None = None
    max: float | None = None
    metavar: str | None = None
    flags: tuple[str, ...] = ()
    parse: Callable[[str], Any] | None = None
    variable: str | None = None
    of_command: bool = True
    kind: Kind | None = None
    convert: Callable[[str, Any], Any] | None = None

    def wrong(self, value: Any) -> str:
        """What is wrong with a number; empty if it is in the range."""
        low, high = self.min, self.max
        if self.above is not None:
            in_range = self.above < value and (high is None or value <= high)
            return "" if in_range else f"is not above {self.above:g} and at most {high:g}"
        if high is None:
            return "" if low is None or value >= low else f"is below {low:g}"
        return "" if (low or 0) <= value <= high else f"is not from {low:g} to {high:,}"


def argument(
    help: str, kind: Kind | None = None, convert: Callable[[str, Any], Any] | None = None
) -> Option:
    """The `Option` of an argument of Python only, such as a function to call."""
    return Option(help, of_command=False, kind=kind, convert=convert)


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
class Options:
    """A group of options, each with a value of its type and in its range.

    The constructor is not that of a dataclass: to compile 40 of these takes an eighth of a query
    from the command line.

    Raises:
        UsageError: one has another value; the message names it.
    """

    error: ClassVar[type[UsageError]] = UsageError
    """The kind of error."""
    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    def __init_subclass__(cls) -> None:
        cls.__annotations__ = get_annotations(cls, eval_str=True)
        dataclass(init=False, repr=False, eq=False, kw_only=True)(cls)

    def __init__(self, *args: Any, **given: Any) -> None:
        group: Any = type(self)
        bound = signature_of(group).bind(*args, **given)
        bound.apply_defaults()
        self.__dict__.update(bound.arguments)
        self.__post_init__()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({vars(self)})"

    def __post_init__(self) -> None:
        for one in fields(self):
            value = getattr(self, one.name)
            if value is not one.default:
                annotation, option = get_args(one.type)
                if option.convert is not None:
                    value = self.__dict__[one.name] = option.convert(one.name, value)
                check_value(one.name, value, annotation, option, self.error)


@cache
def signature_of(group: Any) -> Signature:
    """The signature of a group's constructor."""
    parameters = [
        Parameter(
            one.name,
            Parameter.KEYWORD_ONLY if one.kw_only else Parameter.POSITIONAL_OR_KEYWORD,
            default=getattr(group, one.name, Parameter.empty),
            annotation=get_args(one.type)[0],
        )
        for one in fields(group)
    ]
    return Signature(sorted(parameters, key=lambda one: one.kind))


def option_of(one: Field[Any]) -> Option:
    """What a field of a group declares beside its type."""
    option: Option = get_args(one.type)[1]
    return option


def check_value(
    name: str,
    value: object,
    annotation: Any,
    option: Option | None = None,
    error: type[UsageError] = UsageError,
) -> None:
    """UsageError for a value that is not of a type, or is out of range."""
    what, fits = (option and option.kind) or kind_of(annotation)
    if not fits(value):
        shown = str(value) if isinstance(value, os.PathLike) else value
        raise error(f"{name} {shown!r:.100} is not {what}")
    if option and isinstance(value, Real) and (wrong := option.wrong(value)):
        given = f"{value:g}" if isinstance(value, float) else value
        raise error(f"{name} {given} {wrong}")


def without_none(annotation: Any) -> Any:
    """A type without None."""
    if get_origin(annotation) not in (Union, UnionType):
        return annotation
    return Union[tuple(one for one in get_args(annotation) if one is not NoneType)]  # noqa: UP007


@cache
def kind_of(annotation: Any) -> Kind:
    """What the values of a type are called, and how to tell; of some types anything fits."""
    known = without_none(annotation)
    if known != annotation:
        what, fits = kind_of(known)
        return what, lambda value: value is None or fits(value)
    origin, args = get_origin(annotation), get_args(annotation)
    if annotation in _KINDS:
        return _KINDS[annotation]
    if origin is Literal:
        *others, last = args
        what = f"{', '.join(others)} or {last}" if others else last
        return what, lambda value: isinstance(value, str) and value in args
    if origin in (Union, UnionType):
        kinds = [*map(kind_of, args)]
        what = " or ".join(dict.fromkeys(what for what, _ in kinds))
        return what, lambda value: any(fits(value) for _, fits in kinds)
    if origin in (Iterable, Sequence):
        return _TEXTS if args == (str,) else ("a list or another iterable", _is_stream)
    if origin is Callable or "Callable[" in str(annotation):
        return "a function", lambda value: value is None or callable(value)
    if isinstance(annotation, type) and annotation.__module__.startswith("lshdb."):
        what = f"a lshdb.{annotation.__name__}"
        return what, lambda value: isinstance(value, annotation)
    return "", lambda _: True  # only known to type checkers, or the function itself checks it


_NO_FILES = ("", ":memory:")
"""Names that SQLite takes for databases without a file."""


def _is_file_name(value: object) -> bool:
    try:
        name = os.fspath(value)  # type: ignore[call-overload]
        return isinstance(name, str) and b"\0" not in os.fsencode(name) and name not in _NO_FILES
    except (TypeError, UnicodeEncodeError):
        return False


def _is_stream(value: object) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str | bytes | bytearray)


def _are_texts(value: object) -> bool:
    some = value if isinstance(value, Collection) else ()
    return _is_stream(value) and all(isinstance(one, str) for one in some)


def _are_named(value: object) -> bool:
    return isinstance(value, Mapping) and _are_texts([*value, *value.values()])


_TEXTS: Kind = ("texts in a list or another iterable", _are_texts)
_KINDS: dict[object, Kind] = {
    int: ("an integer", lambda value: isinstance(value, Integral)),
    float: ("a number", lambda value: isinstance(value, Real)),
    str: ("a text", lambda value: isinstance(value, str)),
    bool: ("true or false", lambda value: isinstance(value, bool)),
    str | os.PathLike[str]: ("the name of a file", _is_file_name),
    Mapping[str, str]: ("texts by their names", _are_named),
}


def regrouped(options: Options, group: type[_Other], **others: Any) -> _Other:
    """Another group with those options that both have, and others."""
    names = {one.name for one in fields(group)}
    both = {name: value for name, value in vars(options).items() if name in names}
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


def _taking(group: Any, function: Callable[..., Any]) -> Any:
    own = signature(function)
    *before, last = own.parameters.values()
    given = own.replace(parameters=[*before, *signature_of(group).parameters.values()])

    @wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        first, rest = args[: len(before)], args[len(before) :]
        named = {one.name: options.pop(one.name) for one in before if one.name in options}
        is_group = len(rest) == 1 and type(rest[0]) is group and not options
        chosen = rest[0] if is_group else group(*rest, **options)
        for one, value in zip(before, (*first, *named.values()), strict=False):
            check_value(one.name, value, one.annotation)
        return function(*first, **named, **{last.name: chosen})

    lines = [f"    {one.name}: {option_of(one).help}" for one in fields(group)]
    call.__signature__ = given  # type: ignore[attr-defined]
    call.__doc__ = "\n".join([cleandoc(function.__doc__ or ""), "", "Options:", *lines])
    return call


def checked(function: Callable[_P, _Result]) -> Callable[_P, _Result]:
    """Check the types of a function's arguments by its annotations.

    Raises:
        UsageError: an argument has another type; the message names it.
    """
    own = signature(function)

    @wraps(function)
    def call(*args: _P.args, **given: _P.kwargs) -> _Result:
        for name, value in own.bind(*args, **given).arguments.items():
            check_value(name, value, own.parameters[name].annotation)
        return function(*args, **given)

    return call
