"""Reads and writes lshdb files by Python's standard library alone: docs/format.md as a program.

For texts with contents, shingles `word:w`, the sketch `fast` and plain constructions only. It needs
unicode14.bin. usage: python plain_lshdb.py FILE add < rows.jsonl | query TEXT | pairs
"""

import hashlib
import json
import re
import sqlite3
import struct
import sys
import unicodedata
from functools import cache
from itertools import groupby, pairwise
from pathlib import Path

LEADING = {*map(chr, [*range(0xE40, 0xE45), *range(0xEC0, 0xEC5)])}
FOLLOWING, STACKING = {*"\u0e30\u0e32\u0e45\u0eb0\u0eb2\u0ebd"}, {*"\u17d2\u1039\ua9c0\u1b44"}
KILLING = {*"\u0e3a\u0e4c\u0e4e\u0eba\u0ecc\u17cb\u17cd\u17d1\u103a\ua9c0\u1b44"}
TAGS = re.compile("(\U0001f3f4[\U000e0020-\U000e007f]+)|[\U000e0020-\U000e007f]+")
PLACES = Path(__file__), Path(__file__).parent.parent / "lshdb" / "text" / "folding.py"
TABLE = next(path for path in (p.with_name("unicode14.bin") for p in PLACES) if path.exists())
RUNS = [run for (run,) in struct.iter_unpack("<I", TABLE.read_bytes())] + [0x110000 << 8]
CLASSES = b"".join(bytes([a & 255]) * ((b >> 8) - (a >> 8)) for a, b in pairwise(RUNS))
SILENT = {i: "" for i, kind in enumerate(CLASSES) if kind & 16 and not 0xE0020 <= i <= 0xE007F}
M32, M64 = (1 << 32) - 1, (1 << 64) - 1
P1, P2, P3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9  # primes of xxHash
P4, P5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
USABLE = """SELECT shingle || ' ' || construction, permutations, lane_bits, seed, threshold
    FROM settings WHERE (SELECT application_id FROM pragma_application_id) = 1819502692
        AND (SELECT user_version FROM pragma_user_version) = 7 AND sketch = 'fast' AND passages = 0
        AND content = 1 AND tokenizer IS NULL AND NOT EXISTS (SELECT 1 FROM base_texts)
        AND NOT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'rare_words')"""
NEXT = """SELECT 1 + max(coalesce((SELECT max(doc_id) FROM documents), 0),
    coalesce((SELECT max(doc_id) FROM indexed), 0), coalesce(indexed_to, 0)) FROM settings"""
LATE = """SELECT doc_id, signature FROM signatures, settings
    WHERE doc_id > indexed_to AND doc_id NOT IN (SELECT doc_id FROM indexed)"""
MEMBERS = "SELECT doc_id FROM bands WHERE band_no = ? AND bucket_key = ?"
STORED = "SELECT doc_id, key, content, signature FROM documents JOIN signatures USING (doc_id)"


def fold(text):
    text = TAGS.sub(r"\1", text.translate(SILENT))
    parts = groupby(text, lambda character: CLASSES[ord(character)] & 8)
    texts = [(unassigned, "".join(part)) for unassigned, part in parts]
    done = [p if stays else unicodedata.normalize("NFKC", p).casefold() for stays, p in texts]
    return TAGS.sub(r"\1", "".join(done).translate(SILENT)).translate({0x64A: 0x6CC, 0x643: 0x6A9})


def shingles(text, size):
    text, words, inside, after_letter = fold(text), [], False, False
    for i, character in enumerate(text):
        kind, before, behind = CLASSES[ord(character)], text[max(i - 1, 0) : i], text[i + 1 : i + 3]
        begins, is_mark = not inside or kind & 2 > 0, kind & 34 == 32
        if kind & 64:
            sign = behind[1:] if behind[:1] == "\u1037" else behind[:1]
            lives = behind != "" and CLASSES[ord(behind[0])] & 34 == 32 and sign not in KILLING
            has_vowel = character not in FOLLOWING and (lives or behind[:1] in FOLLOWING)
            begins |= character in LEADING or (has_vowel and before not in LEADING | STACKING)
        if not is_mark:
            begins |= after_letter != kind & 64
            after_letter = kind & 64
        if kind & 3:
            words.append(character if begins else words.pop() + character)
        inside = kind & 1
    whole = re.sub("[\t-\r\x1c- \x85\u1680\u2028\u2029]+", " ", text).strip(" ")
    words = words or [whole] * (whole != "")
    return [tuple(words[i : i + size]) for i in range(max(len(words) - size + 1, words != []))]


def rotated(x, bits):
    return (x << bits | x >> (64 - bits)) & M64


def xxh64(octets, seed):
    lanes, end, start = [seed + P1 + P2, seed + P2, seed, seed - P1], len(octets), 0
    for i, (value,) in enumerate(struct.iter_unpack("<Q", octets[: end - end % 32])):
        lanes[i % 4] = rotated(lanes[i % 4] + value * P2 & M64, 31) * P1 & M64
    h = sum(map(rotated, lanes, (1, 7, 12, 18))) if end >= 32 else seed + P5
    for lane in lanes if end >= 32 else ():
        h = (h ^ rotated(lane * P2 & M64, 31) * P1 & M64) * P1 + P4 & M64
    h, start = h + end & M64, end - end % 32
    while start < end:
        size = 8 if end - start >= 8 else 4 if end - start >= 4 else 1
        value, start = int.from_bytes(octets[start : start + size], "little"), start + size
        part = rotated(value * P2 & M64, 31) if size == 8 else value
        bits, a, b, c = {8: (27, P1, P4, P1), 4: (23, P2, P3, P1), 1: (11, P1, 0, P5)}[size]
        h = rotated(h ^ part * c & M64, bits) * a + b & M64
    h = (h ^ h >> 33) * P2 & M64
    h = (h ^ h >> 29) * P3 & M64
    return h ^ h >> 32


def mix(x, a, b):
    x = x * a & M64
    return (x ^ x >> 32) * b & M64


@cache
def constants(seed, label, count):
    s, drawn = xxh64(label.encode(), seed), []
    for _ in range(count):
        z = s = s + 0x9E3779B97F4A7C15 & M64
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & M64
        z = (z ^ z >> 27) * 0x94D049BB133111EB & M64
        drawn.append(z ^ z >> 31 | 1)
    return drawn


class File:
    def __init__(self, path, kind=""):
        uri = Path(path).resolve().as_uri() + "?mode=rw"
        self.run = sqlite3.connect(uri, 60, uri=True, isolation_level=None).execute
        self.run("PRAGMA foreign_keys = ON")
        self.run(f"BEGIN {kind}")
        row = self.run(USABLE).fetchone() or ("", 0, 0, 0, 0)
        shape, self.k, self.bits, self.seed, self.threshold = row
        known = re.fullmatch(r"word:(\d+) and (\d+), or (\d+)", shape) or sys.exit("unknown kind")
        self.size, self.rows, self.bands = map(int, known.groups())
        self.packing = struct.Struct(f"<{self.k}{'H' if self.bits == 16 else 'I'}")

    def word_hash(self, word):
        octets, c = word.encode(), constants(self.seed, "span word", 4)
        h = c[0] + len(octets) * c[1] & M64
        for i in range(0, len(octets), 8):
            h = mix(h ^ int.from_bytes(octets[i : i + 8], "little"), c[2], c[3])
        return xxh64(octets, c[0]) if len(octets) > 256 else h

    def hashes(self, runs):
        places = constants(self.seed, "word places", 64)
        return [sum(map(int.__mul__, map(self.word_hash, run), places)) & M64 for run in runs]

    def signature(self, hashes):
        f = constants(self.seed, "fast first round", 4)
        m = constants(self.seed, "fast multipliers", 2)
        t, lanes = constants(self.seed, "fast rounds", 2 * self.k), {}
        for h in sorted(mix(x ^ f[0], f[1], f[2]) for x in hashes):
            lanes.setdefault((h >> 32) * self.k >> 32, h)

        def later(i):
            first = [((x * f[3] & M64) >> 32 ^ t[i] >> 32) * m[0] & M32 for x in hashes]
            return sorted((g ^ g >> 16) * m[1] & M32 for g in first)

        for i in range(1, self.k):
            for g in later(i) if len(lanes) < self.k else ():
                lanes.setdefault(g * self.k >> 32, g)
        lanes = [lanes[j] if j in lanes else later(self.k + j)[0] for j in range(self.k)]
        return [lane & (1 << self.bits) - 1 for lane in lanes]

    def buckets(self, lanes):
        products = [*map(int.__mul__, lanes, constants(self.seed, "bands", self.rows * self.bands))]
        for band in range(self.bands):
            key = sum(products[band * self.rows : (band + 1) * self.rows]) & M64
            key = (key ^ key >> 32) * constants(self.seed, "bucket keys", 1)[0] & M64
            yield band, (key >> 16) - (key >> 63 << 48)

    def add(self, key, text):
        text = re.sub("[\ud800-\udfff]", "\ufffd", text)
        runs, ((doc_id,),) = shingles(text, self.size), self.run(NEXT)
        row = doc_id, key, len(runs), hashlib.blake2b(text.encode(), digest_size=16).digest(), text
        self.run("INSERT INTO documents VALUES (?, ?, ?, ?, NULL, ?)", row)
        if runs:
            lanes = self.signature(self.hashes({*runs}))
            self.run("INSERT INTO signatures VALUES (?, ?)", (doc_id, self.packing.pack(*lanes)))
            for bucket in self.buckets(lanes):
                self.run("INSERT INTO bands VALUES (?, ?, ?)", (*bucket, doc_id))
        self.run("INSERT INTO indexed SELECT ? FROM settings WHERE indexed_to NOTNULL", (doc_id,))

    def similar(self, text, after=0):
        if not (runs := {*shingles(text, self.size)}):
            return []
        lanes, rows = self.signature(self.hashes(runs)), []
        buckets = {*self.buckets(lanes)}
        late = [(doc_id, self.packing.unpack(blob)) for doc_id, blob in self.run(LATE)]
        doc_ids = {doc_id for doc_id, others in late if buckets & {*self.buckets(others)}}
        for bucket in buckets:
            doc_ids.update(doc_id for (doc_id,) in self.run(MEMBERS, bucket))
        for doc_id in (doc_id for doc_id in doc_ids if doc_id > after):
            ((_, key, content, blob),) = self.run(STORED + " WHERE doc_id = ?", (doc_id,))
            others = {*shingles(content, self.size)}
            equal = sum(map(int.__eq__, lanes, self.packing.unpack(blob)))
            rows.append((-len(runs & others) / len(runs | others), -equal, doc_id, key))
        return [(-row[0], row[3]) for row in sorted(rows) if -row[0] >= self.threshold]


def main(path, command, *texts):
    file = File(path, "IMMEDIATE" if command == "add" else "")
    for row in map(json.loads, sys.stdin.buffer if command == "add" else ()):
        file.add(row["id"], row["text"])
    for similarity, key in file.similar(*texts) if command == "query" else ():
        print(f"{similarity:.6f}", key, sep="\t")
    for doc_id, key, content, _ in [*file.run(STORED)] if command == "pairs" else ():
        for similarity, other in file.similar(content, after=doc_id):
            print(f"{similarity:.6f}", key, other, sep="\t")
    file.run("COMMIT")


if __name__ == "__main__":
    main(*sys.argv[1:])
