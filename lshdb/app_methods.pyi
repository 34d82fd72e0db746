# Written by scripts/site/option_types.py.
# ruff: noqa
# fmt: off

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
from lshdb.apps.compare.admission import Admission
from lshdb.apps.compare.model import Comparison
from lshdb.apps.compare.options import AdmissionOptions
from lshdb.apps.dedup.file_rows import DecidedRow
from lshdb.apps.dedup.options import DedupOptions
from lshdb.apps.folders.options import SyncOptions
from lshdb.apps.folders.sync import SyncReport
from lshdb.apps.measuring.model import Measured
from lshdb.apps.measuring.options import MeasureOptions
from lshdb.apps.passages.model import Passages
from lshdb.apps.passages.options import PassagePairsOptions
from lshdb.apps.passages.options import PassagesOptions
from lshdb.apps.passages.passage_pairs import PassageResults
from lshdb.apps.review.decisions import Decision
from lshdb.apps.signatures.model import SignatureSet
from lshdb.apps.signatures.signature_sets import Sketching
from lshdb.apps.tables.options import AddTableOptions
from lshdb.apps.words.model import WordMatches
from lshdb.model import AddReport
from lshdb.model import Verdict
from lshdb.search import result_tables
from lshdb.taking import takes
from numpy.typing import ArrayLike
from typing import Any

class AppMethods:
    @takes()
    def add_decisions(self, decisions: Iterable[Decision]) -> int: ...
    @takes()
    def add_signatures(self, keys: Iterable[Any], signatures: 'ArrayLike', made_with: Sketching, *, shingles: 'ArrayLike | None'=None, digests: Sequence[bytes] | None=None, on_batch: Callable[[AddReport], None] | None=None) -> AddReport: ...
    @takes(AddTableOptions)
    def add_table(self, table: object, options: AddTableOptions) -> AddReport: ...
    @takes(AdmissionOptions)
    def add_unless_similar(self, options: AdmissionOptions) -> Admission: ...
    @takes()
    def compare(self, a: object, b: object) -> Comparison: ...
    @takes()
    def decide(self, verdict: Verdict, keys: Iterable[object], *, note: str | None=None, who: str | None=None) -> list[Decision]: ...
    def decisions(self) -> list[Decision]: ...
    @takes(DedupOptions)
    def dedup_files(self, paths: Iterable[str], options: DedupOptions) -> Iterator[DecidedRow]: ...
    @takes()
    def find_words(self, words: Sequence[str], *, top: int=10, after: int=0, seconds: float | None=None) -> WordMatches: ...
    @takes(MeasureOptions)
    def measure(self, options: MeasureOptions) -> Measured: ...
    @takes(PassagePairsOptions)
    def passage_pairs(self, options: PassagePairsOptions) -> PassageResults: ...
    @takes(PassagesOptions)
    def passages(self, options: PassagesOptions) -> Passages: ...
    @takes()
    def query_signature(self, signature: 'ArrayLike', made_with: Sketching, *, top: int | None=None, threshold: float | None=None, exhaustive: bool=False) -> result_tables.Matches: ...
    @takes()
    def remove_decided(self, *, dry_run: bool=False) -> list[str]: ...
    def signatures(self) -> SignatureSet: ...
    @takes(SyncOptions)
    def sync(self, directories: Sequence[str], options: SyncOptions) -> SyncReport: ...
    @takes()
    def undo_decision(self, decision: int | None=None, decided: str | None=None) -> Decision: ...
    def undo_last_decisions(self) -> list[Decision]: ...
