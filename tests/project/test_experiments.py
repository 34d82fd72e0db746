"""The experiments of scripts/audio and scripts/ratings, in short."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest
from measure.experiments import audio, passages, ratings
from oracles import jaccard


def test_recordings_of_songs_are_found(tmp_path: Path) -> None:
    """100 true matches, of which 2 may be missed, and 1,000 near ones that are no matches."""
    result = audio.measure(1_500, 10, 1, tmp_path)
    assert result.true == 100
    assert result.found >= 98
    assert result.wrong == 0
    # Four standard deviations of a sum of 1,100 coins, most of which hardly ever show heads.
    deviation = (result.candidates_formula * result.queries) ** 0.5 / result.queries
    assert abs(result.candidates - result.candidates_formula) < 4 * deviation
    assert dict(audio.lines(result))["true matches"] == "100 of 10 queries"


def test_clips_are_as_similar_as_they_say() -> None:
    made = list(audio.clips(300, 2, 5))
    assert len({clip.key for clip in made}) == 300
    by_key = {clip.key: set(clip.fingerprints) for clip in made}
    similarities = []
    for clip in made:
        if clip.similarity is not None:
            query = by_key[clip.key.rpartition("/")[0]]
            assert jaccard(query, by_key[clip.key]) == clip.similarity
            similarities.append(clip.similarity)
    assert sum(similarity >= 0.9 for similarity in similarities) == 2 * audio.TRUE
    assert sum(0.7 <= similarity < 0.9 for similarity in similarities) == 2 * audio.NEAR


@pytest.mark.parametrize(("permutations", "rows", "share"), [(128, 21, 0.5), (256, 113, 0.05)])
def test_users_with_similar_ratings_are_found(
    permutations: int, rows: int, share: float, tmp_path: Path
) -> None:
    result = ratings.measure(1_000, 200, 0.99, permutations, 1, tmp_path)
    assert result.threshold == 0.2
    assert result.similar > 200
    assert result.found >= 0.99 * result.similar
    assert result.wrong == 0
    assert result.rows == rows
    assert result.candidates < share * result.users
    assert dict(ratings.lines(result))["rows a user"] == str(rows)


def test_brute_force_gives_the_similarities_of_users() -> None:
    rated = ratings.users(60, 1)
    sets = [set(own.tolist()) for own in rated]
    truth = ratings.BruteForce(rated)
    found = {(i, int(other)): s for i in range(60) for other, s in truth.similar(i, 0.1).items()}
    scores = {(a, b): jaccard(sets[a], sets[b]) for a, b in itertools.permutations(range(60), 2)}
    assert found == {pair: score for pair, score in scores.items() if score >= 0.1}
    assert len(found) > 20


def test_passages_are_judged_by_labels(tmp_path: Path) -> None:
    folder = tmp_path / "irplag_java"
    folder.mkdir()
    task = " ".join(f"t{word}" for word in range(40))
    texts = {
        "T1": task,
        "copy": task + " and more",
        "part": " ".join(task.split()[:6] + ["x"] * 20),
        "own": " ".join(f"o{word}" for word in range(40)),
    }
    rows = (json.dumps({"id": key, "text": text}) + "\n" for key, text in texts.items())
    (folder / "docs.jsonl").write_text("".join(rows))
    (folder / "labels.tsv").write_text(
        "#file\toriginal\tlevel\ncopy\tT1\tL1\npart\tT1\tL2\nown\tT1\tnon\nT1\tT1\toriginal\n"
    )
    table = list(passages.lines(tmp_path, 5))
    assert (
        table[4] == "| 5 words | 100% / 100% | 100% / 100% | 50% / 100% | 50% / 100% | 50% / 100% |"
    )
    assert table[5].startswith("| 8 words | 50% / 100% |")
    (every_10th,) = (line for line in table if "every 10th" in line)
    assert every_10th.startswith("| every 10th word | 100% | 100% |")
