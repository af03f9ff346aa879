"""The commands that check the project, each written once.

``nox -s lint types`` makes a virtual environment for each session. ``nox --no-venv --no-install -s
lint types`` uses the present one, with what ``pip install --group dev -e ".[test]"`` puts there.
"""

from __future__ import annotations

import nox

nox.options.sessions = ["lint", "types", "layers", "test"]
nox.options.reuse_venv = "yes"

GROUPS = nox.project.load_toml("pyproject.toml")


def group(name: str) -> list[str]:
    """Return the requirements of a dependency group; no version of pip is too old for them."""
    return list(nox.project.dependency_groups(GROUPS, name))


@nox.session
def test(session: nox.Session) -> None:
    """Run the fast lane; what follows ``--`` goes to pytest."""
    session.install("-e", ".[test]")
    session.run("python", "-m", "pytest", *session.posargs)


@nox.session
def lowest(session: nox.Session) -> None:
    """Run the fast lane with the oldest versions that the project says it works with."""
    project = GROUPS["project"]
    needed = [*project["dependencies"], *project["optional-dependencies"]["test"]]
    oldest = {one.split(">=")[0]: one.replace(">=", "==") for one in needed}  # tests need more
    session.install("-e", ".[test]", *oldest.values())
    session.run("python", "-m", "pytest", *session.posargs)


@nox.session
def slow(session: nox.Session) -> None:
    """Run the tests that the fast lane leaves out."""
    session.install("-e", ".[test]")
    env = {"HYPOTHESIS_PROFILE": "ci"}
    session.run("python", "-m", "pytest", "-m", "slow", *session.posargs, env=env)


@nox.session
def lint(session: nox.Session) -> None:
    """Check the rules and the format of the source."""
    session.install(*group("lint"))
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")


@nox.session
def types(session: nox.Session) -> None:
    """Check the types."""
    session.install(*group("lint"), "-e", ".[test]")
    session.run("mypy")


@nox.session
def layers(session: nox.Session) -> None:
    """Check that imports go down, run in no circle, and that packages keep to their lines."""
    session.install(*group("lint"), "-e", ".")
    session.run("lint-imports", "--no-logo", "--no-cache")
    session.run("python", "tests/project/lines.py")


@nox.session
def mutants(session: nox.Session) -> None:
    """Print the mutants that no test kills, as of ``-- core/recipe/steps.py --count 60``."""
    session.install("-e", ".[test]")
    session.run("python", "-m", "tests.mutants", *session.posargs)


@nox.session
def systems(session: nox.Session) -> None:
    """Ask real systems fresh random questions; one that does not install is left out."""
    session.install("-e", ".")
    for name in group("systems"):
        session.install(name, success_codes=[0, 1])
    session.run("python", "tests/benchmarks/real_systems.py", *session.posargs)


@nox.session
def docs(session: nox.Session) -> None:
    """Build the site in build/html, or in the folder that follows ``--``; a warning is an error."""
    session.install(*group("docs"), "-e", ".")
    place = session.posargs or ["build/html"]
    session.run("sphinx-build", "-q", "-W", "--keep-going", "-n", "-c", "docs", ".", *place)


@nox.session
def site(session: nox.Session) -> None:
    """Build the site with the explorer, which runs in the browser; it needs Node.js and npm."""
    session.install(*group("docs"), "-e", ".")
    place = (session.posargs or ["build/html"])[0]
    command = ["sphinx-build", "-q", "-W", "--keep-going", "-n", "-c", "docs", ".", place]
    session.run(*command, "-D", "explorer=explorer/index.html")
    session.run("python", "docs/make_explorer.py", f"{place}/explorer")


@nox.session
def generate(session: nox.Session) -> None:
    """Write the generated pages, figures and notebook outputs; ``-- --check`` compares them."""
    session.install("-e", ".[test]")
    session.run("python", "docs/generate.py", *session.posargs)
