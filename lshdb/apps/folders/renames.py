"""Which files, members of archives and messages are stored ones under other keys, by contents."""

import re
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping

from lshdb.read.paths import file_of_key


def matched(
    stored: Mapping[str, Hashable], read: Mapping[str, Hashable]
) -> tuple[dict[str, str], list[tuple[set[str], set[str]]]]:
    """Match what is gone, or may be other things now, with what is there.

    Of several with one content those with the longest common end of their keys belong together, in
    whole names, if there are no two such; of one and one, whatever their keys are.

    Args:
        stored: the contents that keys stood for.
        read: the contents that keys stand for now.

    Returns:
        The old keys by the new ones, which may be equal; and for each content that fewer keys have
        now than before, the old keys, and those of them without a new one.

    >>> matched({"a": 1, "b": 2}, {"b": 1, "c": 2})
    ({'b': 'a', 'c': 'b'}, [])
    >>> matched({"a": 1, "b": 1}, {"b": 1})[0]
    {'b': 'b'}
    >>> matched({"d/x": 1, "e/x": 1}, {"f/x": 1})[0]
    {}
    """
    old_keys: dict[Hashable, set[str]] = defaultdict(set)
    for key, content in stored.items():
        old_keys[content].add(key)
    new_keys: dict[Hashable, set[str]] = {content: set() for content in old_keys}
    for key, content in read.items():
        if content in new_keys:
            new_keys[content].add(key)
    old_of_new: dict[str, str] = {}
    fewer = []
    for content, keys in old_keys.items():
        pairs = dict(_paired(keys, new_keys[content]))
        old_of_new |= pairs
        if len(new_keys[content]) < len(keys):
            fewer.append((keys, keys.difference(pairs.values())))
    return old_of_new, fewer


def _paired(old_keys: Iterable[str], new_keys: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The new and the old keys that belong together, of those with one content."""
    old_names, new_names = ({key: _names(key) for key in keys} for keys in (old_keys, new_keys))
    longest = max(map(len, [*old_names.values(), *new_names.values()]))
    for count in range(longest, -1, -1):
        if not old_names or not new_names:
            return
        by_end: defaultdict[tuple[str, ...], tuple[list[str], list[str]]]
        by_end = defaultdict(lambda: ([], []))
        for side, names in enumerate((old_names, new_names)):
            for key, parts in names.items():
                by_end[parts[len(parts) - count :] if count < len(parts) else parts][side].append(
                    key
                )
        for old, new in by_end.values():
            if len(old) == len(new) == 1:
                yield new[0], old[0]
                del old_names[old[0]], new_names[new[0]]


def _names(key: str) -> tuple[str, ...]:
    """The directories and the name of a file, or of a message in it."""
    file = file_of_key(key)
    return (*re.split(r"[/\\]", file), *filter(None, [key[len(file) :]]))
