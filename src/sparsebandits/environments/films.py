"""The recommendation of genres on real data: critics' scores of 17,004 films in 20 genres."""

import csv
import hashlib
import io
from importlib import resources

import numpy as np

from sparsebandits.action_sets import Box
from sparsebandits.environments.empirical import Empirical
from sparsebandits.environments.linear import LinearEnvironment
from sparsebandits.errors import InvalidValueError
from sparsebandits.validation import IntArray

FILMS_SHA256 = "6fe8d0739decb34caa70c4737f7ef69d615e32ce18ea1ec260af19e26aa6298b"
"""Of the extract `data/films.csv`; `data/films.md` says where it comes from."""

ALL_FILMS = "All films"
"""The rows of the extract that count every film once, whatever the number of its genres."""

FILM_GENRES = (
    "Action", "Adventure", "Animation", "Biography", "Comedy", "Crime", "Documentary", "Drama",
    "Family", "Fantasy", "History", "Horror", "Musical", "Mystery", "Romance", "Sci-Fi", "Sport",
    "Thriller", "War", "Western",
)  # fmt: skip
"""The genres of the extract, in its order."""

SCORES = np.arange(101)
"""The critics' score of a film: how many in a hundred of its reviews are favourable."""

SCALE = 50.0
"""Points of score in one unit of reward, so that scores span 2 units, as the paper's theta* do."""


def film_recommendation() -> LinearEnvironment:
    """Return the recommendation system of `subsec:video_recommendation` with real preferences.

    x_i in [0, 1] is the airtime of genre i, and at most 5 (`GENRES_SHOWN`) of the 20 genres are
    shown at once, as in `video_recommendation`. What is real is how much each is liked and how much
    the films of one genre differ:

    - theta*_i = (mean score of the films of genre i - mean score of all films) / 50, the same in
      every trial. A film with several genres counts in each of them.
    - The noise on the reward is that of a single film: a film and one of its genres are drawn, all
      35,389 pairs with the same probability, and eta = (its score - mean of that genre) / 50. In
      each genre these residuals have mean 0, so the pool has mean 0 as well.

    The pool is the same for every page x: the noise does not depend on the action, as `ass:noise`
    and the shared noise of a comparison have it. Real genres differ (0.35 for Documentary to 0.57
    for Mystery, in standard deviations), which the pool averages.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsebandits.environments import GENRES_SHOWN, film_recommendation
    >>> env = film_recommendation()
    >>> best = np.argsort(env.theta_star)[::-1][:GENRES_SHOWN]
    >>> [env.names[i] for i in best]
    ['Documentary', 'History', 'Western', 'War', 'Biography']
    >>> env.theta_star[best].round(2)
    array([0.41, 0.24, 0.16, 0.15, 0.15])
    >>> round(env.noise.standard_deviation, 3), round(env.sigma, 3)
    (0.54, 0.552)
    """
    counts = film_counts()
    every = counts[ALL_FILMS]
    films = np.stack([counts[genre] for genre in FILM_GENRES])
    means = films @ SCORES / films.sum(axis=1)
    overall = every @ SCORES / every.sum()
    genre, score = np.nonzero(films)
    residuals = (SCORES[score] - means[genre]) / SCALE
    return LinearEnvironment(
        action_set=film_box(),
        theta_star=(means - overall) / SCALE,
        noise=Empirical(residuals.tolist(), films[genre, score].tolist()),
    )


def film_box() -> Box:
    """Return the airtimes of the genres, by name: the set of `film_recommendation`."""
    return Box(np.zeros(len(FILM_GENRES)), np.ones(len(FILM_GENRES)), names=FILM_GENRES)


def film_counts() -> dict[str, IntArray]:
    """Return the number of films by score, (101,), of each genre and of `ALL_FILMS`.

    Examples
    --------
    >>> from sparsebandits.environments.films import film_counts
    >>> counts = film_counts()
    >>> int(counts["All films"].sum()), int(counts["Documentary"].sum()), len(counts)
    (17004, 1596, 21)
    """
    source = resources.files("sparsebandits.environments") / "data" / "films.csv"
    try:
        content = source.read_bytes()
    except FileNotFoundError:
        raise InvalidValueError(
            f"The extract of film scores {source} is missing; install sparsebandits again, or "
            "write the file with tools/extract_films.py."
        ) from None
    return read_counts(content)


def read_counts(content: bytes) -> dict[str, IntArray]:
    """Return what `film_counts` does, from the bytes of the extract, checked by their SHA-256."""
    # A checkout may have turned the line ends into those of Windows, which harms nothing.
    content = content.replace(b"\r\n", b"\n")
    checksum = hashlib.sha256(content).hexdigest()
    if checksum != FILMS_SHA256:
        raise InvalidValueError(
            f"The extract of film scores is damaged: its SHA-256 is {checksum}, and {FILMS_SHA256} "
            "was expected; install sparsebandits again, or write data/films.csv with "
            "tools/extract_films.py."
        )
    counts: dict[str, IntArray] = {}
    for row in csv.DictReader(io.StringIO(content.decode("ascii"))):
        films = counts.setdefault(row["genre"], np.zeros(SCORES.size, dtype=np.intp))
        films[int(row["score"])] = int(row["films"])
    return counts
