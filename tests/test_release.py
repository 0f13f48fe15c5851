"""The files of a release: metadata, the README of package indexes, the workflow, and the scripts in `release`."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

import feedline as fl

ROOT = Path(__file__).parents[1]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())


@pytest.fixture(scope="module")
def check() -> ModuleType:
    spec = importlib.util.spec_from_file_location("release_check", ROOT / "release" / "check.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_version_is_in_one_place(check: ModuleType) -> None:
    assert "version" in PROJECT["project"]["dynamic"] and "version" not in PROJECT["project"]
    assert PROJECT["tool"]["scikit-build"]["metadata"]["version"]["input"] == "src/feedline/__init__.py"
    assert check.version() == fl.__version__


def test_the_python_versions_of_metadata_are_those_that_are_built() -> None:
    named = re.findall(r":: (3\.\d+)$", "\n".join(PROJECT["project"]["classifiers"]), re.MULTILINE)
    built = {re.sub(r"cp(\d)(\d+).*", r"\1.\2", tag) for tag in PROJECT["tool"]["cibuildwheel"]["build"]}
    assert set(named) == built
    assert PROJECT["project"]["requires-python"] == f">={named[0]}"


def on_the_index() -> str:
    text = (ROOT / "README.md").read_text()
    hook = PROJECT["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]
    assert hook["fragments"] == [{"path": "README.md"}]
    for each in hook["substitutions"]:
        text = re.sub(each["pattern"], each["replacement"], text)
    return text.replace("$HFPR_VERSION", fl.__version__)


def test_links_and_pictures_of_the_readme_work_on_an_index(check: ModuleType) -> None:
    assert check.relative((ROOT / "README.md").read_text()), "the check finds relative links"
    text = on_the_index()
    assert check.relative(text) == []
    files = re.findall(rf"OWNER/feedline(?:/blob)?/v{re.escape(fl.__version__)}/([^)\"]+)", text)
    assert "docs/assets/timeline-light.svg" in files and "docs/index.md" in files
    assert [name for name in files if not (ROOT / name).exists()] == []


def test_a_release_needs_a_date_and_real_addresses(
    check: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "src/feedline").mkdir(parents=True)
    (tmp_path / "src/feedline/__init__.py").write_text('__version__ = "1.2.3"\n')
    (tmp_path / "CHANGELOG.md").write_text("## [1.2.3] - unreleased\n")
    (tmp_path / "pyproject.toml").write_text('Source = "https://github.com/OWNER/feedline"\n')
    (tmp_path / "mkdocs.yml").write_text("site_name: feedline\n")
    monkeypatch.setattr(check, "ROOT", tmp_path)
    assert [each.partition(":")[0] for each in check.in_sources("v1.2.4")] == [
        "the tag is v1.2.4, but the version is 1.2.3",
        "CHANGELOG.md",
        "pyproject.toml",
    ]
    (tmp_path / "CHANGELOG.md").write_text("## [1.2.2] - 2026-01-01\n")
    assert "CHANGELOG.md has no heading '## [1.2.3] - <date>'" in list(check.in_sources(None))
    (tmp_path / "CHANGELOG.md").write_text("## [1.2.3] - 2026-01-31\n")
    (tmp_path / "pyproject.toml").write_text("# OWNER was a placeholder\n")
    assert list(check.in_sources("v1.2.3")) == []


def test_every_wheel_and_its_readme_are_checked(check: ModuleType, tmp_path: Path) -> None:
    assert len(list(check.in_files(tmp_path))) == len(check.WHEELS) + 1
    with zipfile.ZipFile(tmp_path / "feedline-1.2.3-cp312-abi3-win_amd64.whl", "w") as archive:
        archive.writestr("feedline-1.2.3.dist-info/METADATA", "Name: feedline\n\n[guide](docs/index.md) [more](#more)")
    found = list(check.in_files(tmp_path))
    assert len(found) == len(check.WHEELS) + 1
    assert "links to 'docs/index.md'" in found[-1]


def test_the_workflow_builds_every_wheel(check: ModuleType) -> None:
    workflow = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text())
    named = {each["name"] for each in workflow["jobs"]["wheels"]["strategy"]["matrix"]["include"]}
    systems = {"linux": ("manylinux", "musllinux"), "macos": ("macosx",), "windows": ("win",)}
    built = {(s, name.partition("-")[2]) for name in named for s in systems[name.partition("-")[0]]}
    tags = ["cp311-cp311", "cp312-abi3", "cp314-cp314t"]
    expected = {f"{tag}-{s}{'_' if s == 'win' else '.*'}{machine}" for tag in tags for s, machine in built}
    assert set(check.WHEELS) == expected
    assert workflow["jobs"]["publish"]["permissions"] == {"id-token": "write"}


def test_the_smoke_test_passes_here() -> None:
    done = subprocess.run([sys.executable, ROOT / "release" / "smoke.py"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"feedline {fl.__version__}, ") and done.stdout.endswith("ok\n")
