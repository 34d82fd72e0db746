from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, Protocol, Self, TypeVar, overload

_P = ParamSpec("_P")
_Q = ParamSpec("_Q")
_P2 = ParamSpec("_P2")
_Q2 = ParamSpec("_Q2")
_Subject = TypeVar("_Subject")
_Other = TypeVar("_Other")
_Group = TypeVar("_Group")
_Function = TypeVar("_Function", bound=Callable[..., Any])
_Result = TypeVar("_Result")
_Returned = TypeVar("_Returned", covariant=True)

class Taking(Protocol[_P, _Q, _Returned]):
    """A function that takes the options of a group one by one, or the group."""

    @overload
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _Returned: ...
    @overload
    def __call__(self, *args: _Q.args, **kwargs: _Q.kwargs) -> _Returned: ...
    @overload
    def __get__(self, instance: None, owner: type, /) -> Self: ...
    @overload
    def __get__(
        self: Taking[Concatenate[_Subject, _P2], Concatenate[_Subject, _Q2], _Result],
        instance: _Subject,
        owner: type | None = None,
        /,
    ) -> Taking[_P2, _Q2, _Result]: ...

class _Giving(Protocol[_P, _Group]):
    """What makes such a function of one whose last argument is the group.

    Up to two arguments come before it, that of the object among them.
    """

    @overload
    def __call__(
        self, function: Callable[[_Group], _Result], /
    ) -> Taking[_P, [_Group], _Result]: ...
    @overload
    def __call__(
        self, function: Callable[[_Subject, _Group], _Result], /
    ) -> Taking[Concatenate[_Subject, _P], [_Subject, _Group], _Result]: ...
    @overload
    def __call__(
        self, function: Callable[[_Subject, _Other, _Group], _Result], /
    ) -> Taking[Concatenate[_Subject, _Other, _P], [_Subject, _Other, _Group], _Result]: ...

@overload
def takes() -> Callable[[_Function], _Function]: ...
@overload
def takes(group: Callable[_P, _Group]) -> _Giving[_P, _Group]: ...
