"""Groups of options: what an option is, and its checks.

A group is a frozen dataclass. A field is an option, with its type and default; an `Option` beside
the type adds the range, one line of help, and how the command line writes it. Or a field is another
group, whose options are then options of this one, too: code reads `options.walk.hidden`, and users
write `hidden=True`. A method that takes a group (lshdb.taking) has all of these as arguments, or
the group itself. A command whose parameter is a group has its options (lshdb.cli.parameters). The
groups of the core are in lshdb.options, those of an app in its folder.
"""

import dataclasses
import functools
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from inspect import Parameter, Signature, get_annotations
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import (
    Any,
    ClassVar,
    Literal,
    NamedTuple,
    NoReturn,
    Self,
    TypeVar,
    Union,
    dataclass_transform,
    get_args,
    get_origin,
)

from lshdb.errors import UsageError

ValueKind = tuple[str, Callable[[object], bool]]
"""What the values of a type are called in messages, and whether a value is one."""

_Changed = TypeVar("_Changed", bound="Options")


@dataclasses.dataclass(frozen=True)
class Option:
    """What is known of an option besides its name, type and default.

    Attributes:
        help: one line, for people who type it and for people who call it. Help pages add the
            default, unless it says something of a default.
        min: the smallest value.
        above: values are greater than this.
        max: the largest value.
        metavar: what stands for a value in help pages; of a Literal its values if None.
        flags: how the command line writes it; --NAME if empty, or --no-NAME where the default is
            True.
        parse: makes the value of a text from the command line, or raises ValueError.
        variable: the environment variable that also gives it to a command.
        of_command: whether commands have it; else it is for Python only.
        kind: of its values, if its type is only known to type checkers.
        convert: makes a value of its type of what a program gives, from its name and that value,
            or raises UsageError.
        section: the heading of help pages that it is under, if not under that of its group.
        common: whether `--help` shows it, and not only `--help-all`; None: if its section is one of
            those that most people use.
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
    kind: ValueKind | None = None
    convert: Callable[[str, Any], Any] | None = None
    section: str | None = None
    common: bool | None = None

    def wrong(self, value: Any) -> str:
        """What is wrong with a number; empty if it is in the range."""
        low, high = self.min, self.max
        if self.above is not None:
            in_range = high is not None and self.above < value <= high
            meant = f"; did you mean {value / 100:g}?" if high == 1 and 10 <= value <= 100 else ""
            return "" if in_range else f"is not above {self.above:g} and at most {high:,}{meant}"
        if high is None:
            return "" if low is None or value >= low else f"is below {low:g}"
        return "" if (low or 0) <= value <= high else f"is not from {low:g} to {high:,}"


argument = functools.partial(Option, of_command=False)
"""An option of Python only, such as a function to call."""
uncommon = functools.partial(Option, common=False)
"""An option that only `--help-all` shows."""
proportion = functools.partial(Option, above=0, max=1)
"""An option that is a share of 1, above 0."""


class Declared(NamedTuple):
    """An option as a group has it.

    Attributes:
        name: in Python.
        annotation: the type of its values.
        default: its value if none is given; Parameter.empty if one must be.
        option: what else is known of it.
        kw_only: whether it is given by its name only.
        group: the group that declares it.
    """

    name: str
    annotation: Any
    default: Any
    option: Option
    kw_only: bool
    group: type["Options"]

    @property
    def section(self) -> str:
        """The heading of help pages that it is under."""
        section = self.option.section
        return self.group.section if section is None else section

    @property
    def flags(self) -> tuple[str, ...]:
        """How the command line writes it; nothing for one of Python only."""
        if not self.option.of_command:
            return ()
        off = "no-" if self.default is True else ""
        return self.option.flags or (f"--{off}{self.name.replace('_', '-')}",)


@dataclass_transform(
    frozen_default=True, kw_only_default=True, field_specifiers=(dataclasses.field,)
)
class Options:
    """A group of options, each with a value of its type and in its range; it may hold groups.

    The constructor takes options by name, also those of the groups that it holds; or such a group
    as a whole, by the name of its field, which options that are given beside it change.

    The constructor is not that of a dataclass: to compile 40 of these takes an eighth of a query
    from the command line.

    Raises:
        UsageError: one has another value; the message names it.
        TypeError: one is unknown, missing or given twice.
    """

    error: ClassVar[type[UsageError]] = UsageError
    """The kind of error for a wrong value."""
    section: ClassVar[str] = ""
    """The heading of help pages for the options that the group itself declares."""
    __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[Any]]]
    declared: ClassVar[dict[str, Declared]]
    """All options, those of the groups that it holds among them, in the order of declaration."""
    _fields: ClassVar[dict[str, str]]
    """The field that gets a value, by the name of an option or of a group that is held."""
    _defaults: ClassVar[dict[str, Any]]
    """The values of the fields that may be left out."""
    _required: ClassVar[list[str]]
    """The options that may not."""

    def __init_subclass__(cls) -> None:
        if cls.__bases__ != (Options,):
            raise TypeError(f"{cls.__name__} extends a group: let it hold that group")
        if any(isinstance(kind, str) for kind in cls.__annotations__.values()):
            cls.__annotations__ = get_annotations(cls, eval_str=True)
        dataclasses.dataclass(init=False, repr=False, eq=False, kw_only=True)(cls)
        options, targets, defaults = dict[str, Declared](), dict[str, str](), dict[str, Any]()
        required = list[str]()
        for declared_field in cls.__dataclass_fields__.values():
            name, default = declared_field.name, declared_field.default
            held: Any = declared_field.type
            names = {name}
            if is_group(held):
                names.update(held.declared)
                options |= held.declared
                required += held._required
                if not held._required:
                    defaults[name] = held()
            else:
                if default is dataclasses.MISSING:
                    default = Parameter.empty
                    required.append(name)
                else:
                    defaults[name] = default
                annotation, option = get_args(held)
                options[name] = Declared(
                    name, annotation, default, option, bool(declared_field.kw_only), cls
                )
            if twice := sorted(targets.keys() & names):
                raise TypeError(f"{cls.__name__} has two of {', '.join(twice)}")
            targets |= dict.fromkeys(names, name)
        cls.declared, cls._fields = options, targets
        cls._defaults, cls._required = defaults, required

    def __init__(self, *args: Any, **keywords: Any) -> None:
        self._fill(type(self).__name__, args, keywords)

    @classmethod
    def of_call(cls, caller: str, args: Sequence[Any], keywords: Mapping[str, Any]) -> Self:
        """The options that are the arguments of a function; errors name it."""
        options = cls.__new__(cls)
        options._fill(caller, args, keywords)
        return options

    def _fill(self, caller: str, args: Sequence[Any], keywords: Mapping[str, Any]) -> None:
        """Set all values by the arguments of a function."""
        if args:
            names = [option.name for option in self.declared.values() if not option.kw_only]
            if len(args) > len(names):
                after = f" after {', '.join(names)}" if names else ""
                raise TypeError(f"{caller}() takes arguments by their names only{after}")
            by_position = dict(zip(names, args, strict=False))
            if named_twice := by_position.keys() & keywords.keys():
                raise TypeError(f"{caller}() got two values of argument {min(named_twice)!r}")
            keywords = by_position | {**keywords}
        values, fields_of, changes_of = self.__dict__, self._fields, dict[str, dict[str, Any]]()
        values.update(self._defaults)
        for name, value in keywords.items():
            target = fields_of.get(name)
            if target is None:
                raise unexpected(caller, name, self.declared)
            if target == name:
                values[name] = value
            else:
                changes_of.setdefault(target, {})[name] = value
        for name in self._required:
            if name not in keywords and fields_of[name] not in keywords:
                raise TypeError(f"{caller}() needs the argument {name!r}")
        for name in keywords:
            self._check(name)
        for target, changes in changes_of.items():
            held: Any = self.__dataclass_fields__[target].type
            before = vars(values[target]) if target in values else {}
            values[target] = held(**before | changes)
        self.__post_init__()

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise dataclasses.FrozenInstanceError(
            f"cannot assign to {name!r}: make other options instead"
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({vars(self)})"

    def __post_init__(self) -> None:
        """Check options that go only together, or not together; UsageError."""

    def _check(self, name: str) -> None:
        declared, value = self.declared.get(name), self.__dict__.get(name)
        if declared is None:  # a group as a whole
            held: Any = self.__dataclass_fields__[name].type
            if not isinstance(value, held):
                raise self.error(f"{name} {value!r:.100} is not of {held.__name__}")
        elif self._fields[name] == name and value is not declared.default:
            if declared.option.convert is not None:
                value = self.__dict__[name] = declared.option.convert(name, value)
            check_value(name, value, declared.annotation, declared.option, self.error)


def is_group(annotation: object) -> bool:
    """Whether a type is a group of options."""
    return isinstance(annotation, type) and issubclass(annotation, Options)


def values_of(options: Options) -> dict[str, Any]:
    """The values of all options of a group and of those that it holds, by name."""
    values = dict[str, Any]()
    for name, value in vars(options).items():
        values |= values_of(value) if isinstance(value, Options) else {name: value}
    return values


def replaced(options: _Changed, **changes: Any) -> _Changed:
    """A group with other values of some options, also of groups that it holds.

    Where the group itself declares them, `dataclasses.replace` does the same, and knows their
    types.
    """
    return dataclasses.replace(options, **changes)


def unfold(group: Any) -> Signature:
    """The arguments by which users give the options of a group: the names of all of them."""
    parameters = [
        Parameter(
            option.name,
            Parameter.KEYWORD_ONLY if option.kw_only else Parameter.POSITIONAL_OR_KEYWORD,
            default=option.default,
            # Types that are not loaded for `--help` are texts.
            annotation=getattr(option.annotation, "__forward_arg__", option.annotation),
        )
        for option in group.declared.values()
    ]
    return Signature(sorted(parameters, key=lambda parameter: parameter.kind))


def unexpected(function: str, name: str, known_names: Iterable[str]) -> TypeError:
    """The error for an argument that a function does not have."""
    from difflib import get_close_matches  # no command needs it

    similar = get_close_matches(name, known_names, 1)
    hint = f"; did you mean {similar[0]!r}?" if similar else ""
    return TypeError(f"{function}() got an unexpected keyword argument {name!r}{hint}")


def check_value(
    name: str,
    value: object,
    annotation: Any,
    option: Option | None = None,
    error: type[UsageError] = UsageError,
) -> None:
    """UsageError for a value that is not of a type, or is out of range."""
    kind_name, fits = (option and option.kind) or kind_of(annotation)
    if not fits(value):
        shown = str(value) if isinstance(value, os.PathLike) else value
        raise error(f"{name} {shown!r:.100} is not {kind_name}")
    if option and isinstance(value, Real) and (wrong := option.wrong(value)):
        written = f"{value:g}" if isinstance(value, float) else value
        raise error(f"{name} {written} {wrong}")


def without_none(annotation: Any) -> Any:
    """A type without None."""
    if get_origin(annotation) not in (Union, UnionType):
        return annotation
    return Union[tuple(member for member in get_args(annotation) if member is not NoneType)]  # noqa: UP007


@functools.cache
def kind_of(annotation: Any) -> ValueKind:
    """What the values of a type are called, and how to tell; of some types anything fits."""
    present_type = without_none(annotation)
    if present_type != annotation:
        kind_name, fits = kind_of(present_type)
        return kind_name, lambda value: value is None or fits(value)
    origin, args = get_origin(annotation), get_args(annotation)
    if annotation in _KINDS:
        return _KINDS[annotation]
    if origin is Literal:
        *others, last = args
        kind_name = f"{', '.join(others)} or {last}" if others else last
        return kind_name, lambda value: isinstance(value, str) and value in args
    if origin in (Union, UnionType):
        kinds = [*map(kind_of, args)]
        kind_name = " or ".join(dict.fromkeys(kind_name for kind_name, _ in kinds))
        return kind_name, lambda value: any(fits(value) for _, fits in kinds)
    if origin in (Iterable, Sequence):
        return _TEXTS if args == (str,) else ("a list or another iterable", _is_stream)
    if origin is Callable or "Callable[" in str(annotation):
        return "a function", lambda value: value is None or callable(value)
    if isinstance(annotation, type) and annotation.__module__.startswith("lshdb."):
        kind_name = f"a lshdb.{annotation.__name__}"
        return kind_name, lambda value: isinstance(value, annotation)
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
    elements = value if isinstance(value, Collection) else ()
    return _is_stream(value) and all(isinstance(element, str) for element in elements)


_TEXTS: ValueKind = ("texts in a list or another iterable", _are_texts)
_KINDS: dict[object, ValueKind] = {
    int: ("an integer", lambda value: isinstance(value, Integral)),
    float: ("a number", lambda value: isinstance(value, Real)),
    str: ("a text", lambda value: isinstance(value, str)),
    bool: ("true or false", lambda value: isinstance(value, bool)),
    str | os.PathLike[str]: ("the name of a file", _is_file_name),
    Mapping[str, str]: (
        "texts by their names",
        lambda value: isinstance(value, Mapping) and _are_texts([*value, *value.values()]),
    ),
}
