"""The rules of dedup: when a document is dropped because of an earlier one.

A rule is one class. It says what a file needs for it (`check`, `index`), which columns a dropped
row has besides the usual ones (`columns`), and how it decides: row by row, by a `Matcher` of each
batch (`RowRule`). `ContainedRule` alone decides on all rows at once, see containing. `RULES` has
them by name; an option or a call names one as NAME or NAME:ARGUMENT.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Protocol, Self, runtime_checkable

import numpy as np

from lshdb import offers
from lshdb.apps.dedup import matching
from lshdb.apps.dedup.collection import Collection
from lshdb.apps.dedup.model import COPIED
from lshdb.apps.dedup.options import RuleOptions
from lshdb.apps.dedup.whole_texts import WholeTexts
from lshdb.apps.passages.lookups import documents_of_fingerprints
from lshdb.apps.passages.passage_windows import common_runs, common_windows
from lshdb.apps.passages.passages import CopiedShares
from lshdb.columns import Columns
from lshdb.errors import UsageError
from lshdb.formatting import shortened
from lshdb.groups import replaced, values_of
from lshdb.maintain.resolve import resolve, with_passages
from lshdb.options import SettingsOptions
from lshdb.read.paths import escaped
from lshdb.search import similarity
from lshdb.search.query import contents_of, exact_of
from lshdb.sketch.banding import bucket_codes
from lshdb.sketch.settings import Settings, plain_settings, unit_of
from lshdb.store.lookups import StoreReader
from lshdb.text.arrays import NO_NUMBERS, IntArray, Mask, int_array
from lshdb.write.parts import SignedPart
from lshdb.write.writing import query_batch

_ANY_SHARE = 1e-12
"""Less than the share of its words that a document of any length shares."""
_USUAL_RUN = 8
"""Words of the passages of an index that is suggested."""
_SHOWN = 60
"""Characters of a frequent run that are shown."""


class Rule(Protocol):
    """A rule.

    Attributes:
        columns: the columns that a dropped row has besides the usual ones.
    """

    columns: ClassVar[Columns] = {}

    @classmethod
    def of(cls, argument: str, options: RuleOptions, threshold: float | None) -> Self:  # noqa: ARG003
        """The rule for some options; UsageError if they do not go with it.

        Args:
            argument: what follows the name and a colon; empty without one.
            options: which rows are dropped.
            threshold: the minimum similarity; None for that of the file.
        """
        if argument:
            raise _unknown(options)
        return cls()

    def check(self, settings: Settings, name: str) -> None:  # noqa: ARG002
        """UsageError if a file of these settings, called `name`, lacks what the rule needs."""
        return

    def index(self, settings: Settings) -> Settings:
        """The settings of a temporary file for documents that the rule compares.

        Raises:
            SettingsError: it cannot compare such documents.
        """
        return plain_settings(settings)


@runtime_checkable
class RowRule(Rule, Protocol):
    """A rule that decides row by row."""

    def comparing(self, collection: Collection) -> "Comparing":
        """A function that makes the matcher of each batch for a collection."""

    def named(self, reader: StoreReader, code: int) -> str:  # noqa: ARG002
        """What people know by a code that many documents have; empty if the rule has no codes."""
        return ""


Comparing = Callable[[StoreReader, SignedPart, Mask, int | None], matching.Matcher]
"""Makes the matcher of a batch, from the collection as it is read now, the documents of the batch
signed by its settings, bool[n], which of these are compared, and how many of them may replace a
stored one (None: none is kept)."""


@dataclass(frozen=True)
class SimilarRule(RowRule):
    """A document is dropped if a kept one has the minimum similarity to it or more.

    Attributes:
        threshold: the minimum similarity; None for that of the file.
        estimate: whether similarities are estimated from signatures.
        numbers: whether texts whose numbers differ are not similar.
    """

    threshold: float | None = None
    estimate: bool = False
    numbers: bool = False

    @classmethod
    def of(cls, argument: str, options: RuleOptions, threshold: float | None) -> Self:
        """See Rule."""
        if argument:
            raise _unknown(options)
        similarity = options.drop.similarity
        return cls(threshold, similarity.estimate, similarity.distinguish is not None)

    def index(self, settings: Settings) -> Settings:
        """See Rule."""
        return replace(plain_settings(settings), records=settings.records)

    def comparing(self, collection: Collection) -> Comparing:
        """See RowRule."""
        settings = collection.store.settings
        if settings.records:
            offers.offered(offers.SEARCHES, "records").check(self.estimate, self.numbers)
            return self._comparing_records(collection)
        filter_of = None
        if self.numbers:
            filter_of = offers.offered(offers.SEARCHES, "distinguish")(settings)

        def matcher(
            reader: StoreReader, part: SignedPart, decided: Mask, replaced: int | None
        ) -> matching.Matcher:
            query, settings = query_batch(part), reader.settings
            min_similarity = settings.threshold if self.threshold is None else self.threshold
            is_exact = settings.content and not self.estimate
            signed = query.signed
            filled = np.flatnonzero(decided & (signed.shingles > 0))
            keys = signed.bucket_keys[filled]
            codes = filled.repeat(keys.shape[1]), bucket_codes(keys).ravel()

            def scored(doc_ids: IntArray) -> matching.Scored:
                exact = exact_of(reader, query, doc_ids, None)
                signatures = matching.signatures_of(reader, query, doc_ids)
                estimates = similarity.Estimates(signatures, exact.same, reader)
                also: list[matching.Filter] = []
                if filter_of is not None:
                    also.append(filter_of(exact.contents).keep)
                if settings.construction.higher:
                    # In a cascade, sharing one bucket is not enough for a candidate.
                    also.append(estimates.share_bucket)
                scorer: similarity.Scorer = exact if is_exact else estimates
                digests: dict[int, str | None] = {}
                if min_similarity == 1 and query.files:
                    digests = dict(enumerate(reader.bytes_digests(doc_ids), len(query)))
                    digests |= query.files
                how = exact.same, min_similarity, is_exact, also, digests
                return matching.Scored(scorer, *how)

            return matching.BucketMatcher(
                reader, len(query), codes, reader.documents_of_buckets, scored, replaced
            )

        return matcher

    def named(self, reader: StoreReader, code: int) -> str:
        """See RowRule: by a document that is in the bucket."""
        _, doc_ids = reader.documents_of_buckets(int_array([code]), 1)
        return f"the bucket of {', '.join(map(escaped, reader.keys_of(doc_ids)))}"

    def _comparing_records(self, collection: Collection) -> Comparing:
        rows, kept = 0, dict[int, int]()

        def matcher(
            reader: StoreReader, part: SignedPart, _decided: Mask, _replaced: int | None
        ) -> matching.Matcher:
            nonlocal rows
            first, rows = rows, rows + len(part.keys)
            query, among_all = query_batch(part), collection.all_rows
            if among_all is None:
                return matching.RecordMatcher(reader, query, self.threshold, first, None)
            with among_all.reading():
                return matching.RecordMatcher(among_all, query, self.threshold, first, kept)

        return matcher


@dataclass(frozen=True)
class CopiedRule(RowRule):
    """A document is dropped if it shares a run of words with a kept one.

    Attributes:
        words: of the shortest run.
    """

    words: int
    columns: ClassVar[Columns] = COPIED

    @classmethod
    def of(cls, argument: str, options: RuleOptions, threshold: float | None) -> Self:  # noqa: ARG003
        """See Rule."""
        if not (argument.isdecimal() and 0 < int(argument) < 10**6 and argument[0] != "0"):
            raise _unknown(options)
        return cls(int(argument))

    def check(self, settings: Settings, name: str) -> None:
        """See Rule."""
        _check_contents(settings, name)
        if not 0 < settings.passages <= self.words:
            raise UsageError(
                f"{name} has no index of passages of {self.words} words or fewer, which this rule "
                f"needs: make it with `lshdb reindex --passages {min(self.words, _USUAL_RUN)}`"
            )

    def index(self, settings: Settings) -> Settings:
        """See Rule."""
        return replace(settings, passages=self.words, reworded=False)

    def named(self, reader: StoreReader, code: int) -> str:
        """See RowRule: where a document has the run, and how it begins."""
        prints = int_array([code])
        runs = common_runs(reader, prints, common_windows(reader, prints))
        unit = unit_of(reader.settings.shingling)
        for key, run in runs:
            text = shortened(escaped(" ".join(run.text.split())), _SHOWN)
            return f"the run of {run.at(key, unit)}: {text}"
        return "a run"

    def comparing(self, collection: Collection) -> Comparing:
        """See RowRule."""
        short = WholeTexts.of(collection, self.words) if collection.is_reference else None

        def matcher(
            reader: StoreReader, part: SignedPart, decided: Mask, replaced: int | None
        ) -> matching.Matcher:
            query = query_batch(part)
            prints = query.signed.parts["fingerprints"]
            shown = decided[prints.documents]
            values, *_ = prints.columns or (NO_NUMBERS,)  # no text of the batch has a run
            codes = prints.documents[shown], values[shown]

            def scored(doc_ids: IntArray) -> matching.Scored:
                exact = exact_of(reader, query, doc_ids, None)
                lengths = np.concatenate([[*map(len, query.stored)], reader.lengths(doc_ids)])
                contents = contents_of(reader, query, doc_ids)
                scorer = CopiedShares(contents, lengths, reader.settings, reader.limits, self.words)
                return matching.Scored(scorer, exact.same, _ANY_SHARE, True)

            whole = {} if short is None else short.reasons(query.stored)
            look_up = partial(documents_of_fingerprints, reader)
            return matching.BucketMatcher(
                reader, len(query), codes, look_up, scored, replaced, whole
            )

        return matcher


@dataclass(frozen=True)
class ContainedRule(Rule):
    """A document is dropped if a kept one has all of its shingles."""

    @classmethod
    def of(cls, argument: str, options: RuleOptions, threshold: float | None) -> Self:
        """See Rule."""
        if options.order.ordered or options.drop_all or options.all_references:
            raise UsageError(
                "rule contained keeps the rows that contain others, and names one of them: give no "
                "order, no drop_all and no all_references"
            )
        return super().of(argument, options, threshold)

    def check(self, settings: Settings, name: str) -> None:
        """See Rule."""
        _check_contents(settings, name)


@dataclass(frozen=True)
class IdenticalRule(RowRule):
    """A document is dropped if a kept one has the same characters, or as a file the same bytes."""

    def comparing(self, collection: Collection) -> Comparing:
        """See RowRule."""
        return matching.IdenticalMatcher(collection).of_batch


RULES: dict[str, type[Rule]] = {
    "identical": IdenticalRule,
    "similar": SimilarRule,
    "copied": CopiedRule,
    "contained": ContainedRule,
}


def rule_of(
    options: RuleOptions,
    threshold: float | None = None,
    recall: float | None = None,
    cut: int | None = None,
) -> Rule:
    """The rule that options name; UsageError if there is none, or they do not go with it.

    Args:
        options: which rows are dropped.
        threshold, recall: the given ones; None for those of the file.
        cut: words of the passages that are found by the rule `copied`; None for the named rule.
    """
    name, colon, argument = options.drop.rule.partition(":")
    if name not in RULES or (colon and not argument):
        raise _unknown(options)
    rule = RULES[name] if cut is None else CopiedRule
    if rule is not SimilarRule:
        given = values_of(options.drop.similarity) | {"threshold": threshold, "recall": recall}
        for unused in filter(given.get, given):
            named = "cut" if cut else f"rule {options.drop.rule}"
            raise UsageError(f"{named} compares contents: give no {unused}")
    return CopiedRule(cut) if cut is not None else rule.of(argument, options, threshold)


def with_index(rule: Rule, request: SettingsOptions) -> SettingsOptions:
    """The request for a new file, with the index of passages that a rule needs."""
    request = with_passages(request)
    needed = rule.index(resolve(request)).passages
    return replaced(request, passages=needed) if needed and not request.shape.passages else request


def _unknown(options: RuleOptions) -> UsageError:
    rule = options.drop.rule
    return UsageError(f"rule {rule!r:.100} is not identical, similar, contained or copied:WORDS")


def _check_contents(settings: Settings, name: str) -> None:
    if not settings.content:
        raise UsageError(
            f"{name} keeps no contents, which this rule compares: make a file without --no-content"
        )
