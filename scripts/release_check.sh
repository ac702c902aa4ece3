#!/usr/bin/env bash
# What a release needs, tried here: sdist and wheel, their metadata and symbols, and README's tour in a
# fresh environment without a compiler.
#   scripts/release_check.sh PYTHON
set -euo pipefail
python=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
version=$("$python" - <<'P'
import pathlib, re, tomllib
declared = tomllib.loads(pathlib.Path("pyproject.toml").read_text())["project"]["version"]
stated = re.search(r'__version__ = "(.*)"', pathlib.Path("src/gaussnet/__init__.py").read_text())[1]
assert declared == stated, f"pyproject.toml has version {declared}, gaussnet {stated}"
print(declared)
P
)
grep -q "^## $version" CHANGELOG.md || { echo "CHANGELOG.md has no section ## $version"; exit 1; }
"$python" -m venv "$work/tools"
"$work/tools/bin/pip" install --quiet build twine auditwheel
"$work/tools/bin/python" -m build --outdir "$work/dist" . >/dev/null
"$work/tools/bin/twine" check --strict "$work"/dist/*
case $(uname -s) in Linux) "$work/tools/bin/auditwheel" show "$work"/dist/*.whl ;; esac
ls "$work"/dist | grep -q "abi3" || { echo "the wheel has no compiled kernels"; exit 1; }
"$python" -m venv "$work/fresh"
CC=/nonexistent "$work/fresh/bin/pip" install --quiet "$(ls "$work"/dist/*.whl)[files]" pandas
cp README.md "$work"
cd "$work"
CC=/nonexistent "$work/fresh/bin/gaussnet" --version
"$work/fresh/bin/python" - <<'P'
import doctest
failed, tried = doctest.testfile("README.md", module_relative=False, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
print(f"README's tour: {tried} lines, {failed} failed")
raise SystemExit(bool(failed or not tried))
P
echo "gaussnet $version can be released"
