"""Cut the small extract `films.csv` from the `movies.db` of the wheel `bokeh_sampledata`.

    python -m venv /tmp/films && /tmp/films/bin/pip install bokeh_sampledata==2026.1
    python tools/extract_films.py \
        /tmp/films/lib/python3*/site-packages/bokeh_sampledata/_data/movies.db

The wheel is no dependency of sparsebandits: the extract ships with the package, and this script is
how to make it again, byte for byte. `films.md` beside the extract says what is in it. Needs nothing
but the standard library.
"""

import argparse
import hashlib
import sqlite3
from collections import Counter
from pathlib import Path

SOURCE_SHA256 = "1d9c6a02e488d0354b2309e16130c58820a91ac2ce417e814c5964f9579a65ac"
"""Of `movies.db` in bokeh_sampledata 2026.1, as its `licenses/datasets.json` states it."""

DROPPED_GENRE = "Music"
"""The smallest of the 21 genres, with 40 films; 20 are left, as many as in the paper."""

ALL_FILMS = "All films"
"""The name of the rows that count every film once, whatever the number of its genres."""

TARGET = Path(__file__).parents[1] / "src/sparsebandits/environments/data/films.csv"

QUERY = """
    SELECT omdb.Genre, tomatoes.Meter
    FROM omdb JOIN tomatoes ON omdb.ID = tomatoes.ID
    WHERE tomatoes.Meter IS NOT NULL
"""


def count_films(database: Path) -> Counter[tuple[str, int]]:
    """Return the number of films by (genre, critics' score), and by (`ALL_FILMS`, score)."""
    counts: Counter[tuple[str, int]] = Counter()
    connection = sqlite3.connect(f"file:{database.resolve()}?mode=ro", uri=True)
    try:
        for listed, score in connection.execute(QUERY):
            genres = {name.strip() for name in listed.split(",")} - {"", DROPPED_GENRE}
            counts.update((genre, score) for genre in genres)
            if genres:
                counts[ALL_FILMS, score] += 1
    finally:
        connection.close()
    return counts


def as_csv(counts: Counter[tuple[str, int]]) -> bytes:
    """Return the extract, sorted by genre and score, with Unix line ends."""
    rows = [f"{genre},{score},{films}" for (genre, score), films in sorted(counts.items())]
    return "\n".join(["genre,score,films", *rows, ""]).encode("ascii")


def main() -> None:
    """Read the database, write the extract and print its SHA-256."""
    parser = argparse.ArgumentParser(description="Write films.csv from bokeh_sampledata.")
    parser.add_argument("database", type=Path, help="movies.db of bokeh_sampledata 2026.1")
    parser.add_argument("--out", type=Path, default=TARGET, help=f"default: {TARGET}")
    arguments = parser.parse_args()
    if not arguments.database.is_file():
        parser.error(f"There is no file {arguments.database}; give the path of movies.db.")
    found = hashlib.sha256(arguments.database.read_bytes()).hexdigest()
    if found != SOURCE_SHA256:
        parser.error(
            f"{arguments.database} has the SHA-256 {found}, and {SOURCE_SHA256} was expected; "
            "take it from bokeh_sampledata 2026.1."
        )
    content = as_csv(count_films(arguments.database))
    arguments.out.write_bytes(content)
    print(f"{arguments.out}: {len(content):,} bytes, SHA-256 {hashlib.sha256(content).hexdigest()}")


if __name__ == "__main__":
    main()
