"""Try a release: what the sdist holds, and the wheel in clean environments without extras.

    python tools/try_dist.py dist

One environment for each Python from 3.11 to 3.13 that is here, on the path or by pyenv; which
there were is printed. The wheel's own requirements are installed by name.
"""

import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

VERSIONS = ("3.11", "3.12", "3.13")

TRIAL = """
import importlib.util
import sparsebandits as sb

assert "site-packages" in sb.__file__, sb.__file__
for extra in ("click", "matplotlib", "pyarrow", "fastapi", "httpx"):
    assert importlib.util.find_spec(extra) is None, extra
mix = sb.Budget(10, [4] * 5, min_dose=1, names=["tv", "radio", "print", "search", "social"])
learner = sb.SparseThompson(action_set=mix, sparsity=3).start(seed=0)
for _ in range(30):
    decision = learner.ask()
    learner.tell(decision, float(decision.action @ [1.0, 0.2, -0.1, 0.9, 0.4]))
again = sb.Learner.from_dict(learner.to_dict())
assert again.ask().named == learner.ask().named
best = sb.sparse_argmax(mix, [1.0, 0.2, -0.1, 0.9, 0.4], sparsity=3)
assert best.is_exact and best.support == (0, 3, 4), best
row = sb.Polytope([[1.0, 1.0], [-1.0, 0.0], [0.0, -1.0]], [1.0, 0.0, 0.0])
assert sb.sparse_argmax(row, [1.0, 2.0], sparsity=1).value == 2.0
assert sb.film_recommendation().names[0]
try:
    sb.Client
except sb.SparseBanditsError as error:
    assert "sparsebandits[service]" in str(error)
"""


def check_contents(dist: Path) -> None:
    """Refuse archives that lack something, or hold what nobody wants."""
    [sdist], [wheel] = dist.glob("*.tar.gz"), dist.glob("*.whl")
    with tarfile.open(sdist) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    wanted = {"LICENSE", "README.md", "CITATION.cff", "SECURITY.md", "Makefile", "pyproject.toml",
              "docs/index.md", "tests/conftest.py", "examples/plot_01_the_paper.py"}  # fmt: skip
    junk = {name for name in held if name.startswith((".venv", "report", "docs/_build", "dist"))}
    junk |= {
        name for name in held if "__pycache__" in name or name.endswith((".db", ".log", ".whl"))
    }
    with zipfile.ZipFile(wheel) as archive:
        packed = set(archive.namelist())
    wanted_packed = {"sparsebandits/py.typed", "sparsebandits/environments/data/films.csv",
                     "sparsebandits_command.py"}  # fmt: skip
    stray = {name for name in packed if not name.startswith("sparsebandits")}
    problems = [*(f"the sdist lacks {name}" for name in sorted(wanted - held)),
                *(f"the sdist holds {name}" for name in sorted(junk)),
                *(f"the wheel lacks {name}" for name in sorted(wanted_packed - packed)),
                *(f"the wheel holds {name}" for name in sorted(stray))]  # fmt: skip
    if problems:
        sys.exit("\n".join(problems))
    print(f"{sdist.name}: {len(held)} files; {wheel.name}: {len(packed)}")


def interpreters() -> dict[str, str]:
    """Return a Python of each version that runs here."""
    found = {}
    for version in VERSIONS:
        by_pyenv = sorted((Path.home() / ".pyenv" / "versions").glob(f"{version}*/bin/python"))
        for candidate in (shutil.which(f"python{version}"), *map(str, by_pyenv)):
            if candidate is not None and _runs(candidate, version):
                found[version] = candidate
                break
    return found


def _runs(python: str, version: str) -> bool:
    """Whether it answers, and with that version: a shim may stand for nothing."""
    asked = [python, "-c", "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2])"]
    done = subprocess.run(asked, capture_output=True, text=True)
    return done.returncode == 0 and done.stdout.strip() == version


def try_wheel(wheel: Path, python: str) -> None:
    """Install the wheel alone into a new environment, and use it from another folder."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([python, "-m", "venv", folder], check=True)
        inside = Path(folder) / "bin" / "python"
        subprocess.run([inside, "-m", "pip", "install", "--quiet", wheel], check=True)
        subprocess.run([inside, "-I", "-W", "error", "-c", TRIAL], check=True, cwd=folder)
        command = subprocess.run([inside.parent / "sparsebandits"], capture_output=True, text=True)
        if command.returncode != 2 or "sparsebandits[cli]" not in command.stderr:
            sys.exit(f"without its extra the command says {command.stderr!r}")


def main() -> None:
    """Try the folder that is named on the command line."""
    dist = Path(sys.argv[1]).resolve()
    check_contents(dist)
    [wheel] = dist.glob("*.whl")
    found = interpreters()
    for version, python in found.items():
        try_wheel(wheel, python)
        print(f"Python {version}: installed without extras, and works")
    for version in VERSIONS:
        if version not in found:
            print(f"Python {version}: not here, not tried")
    if not found:
        sys.exit("no Python from 3.11 to 3.13 was found to try the wheel with")


if __name__ == "__main__":
    main()
