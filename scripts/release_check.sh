#!/usr/bin/env bash
# What a release needs, tried here: sdist and wheel, their metadata and symbols, and README's tour in a
# fresh environment without a compiler.
#   scripts/release_check.sh PYTHON
set -euo pipefail
python=$1
work=$(mktemp -d)
trap '/bin/rm -rf "$work"' EXIT
version=$(sed -n 's/^__version__ = "\(.*\)"$/\1/p' src/gaussnet/__init__.py)
[ -n "$version" ] || { echo "src/gaussnet/__init__.py states no version"; exit 1; }
grep -q "^## $version" CHANGELOG.md || { echo "CHANGELOG.md has no section ## $version"; exit 1; }
"$python" -m venv "$work/tools"
"$work/tools/bin/pip" install --quiet build twine auditwheel
"$work/tools/bin/python" -m build --outdir "$work/dist" . >/dev/null
"$work/tools/bin/twine" check --strict "$work"/dist/*
case $(uname -s) in Linux) "$work/tools/bin/auditwheel" show "$work"/dist/*.whl ;; esac
wheel=$(echo "$work"/dist/gaussnet-"$version"-cp311-abi3-*.whl)
[ -e "$wheel" ] || { echo "no wheel of version $version for the stable ABI"; exit 1; }
"$python" -m venv "$work/fresh"
readme=$PWD/README.md
cd "$work"
export CC=/nonexistent PATH="$work/fresh/bin" # no compiler, nor anything else
pip install --quiet "${wheel}[files]" pandas
found=$(gaussnet --version)
[ "$found" = "gaussnet $version (native kernels)" ] || { echo "got $found"; exit 1; }
python - "$readme" <<'P'
import doctest
import sys

options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
failed, tried = doctest.testfile(sys.argv[1], module_relative=False, optionflags=options)
print(f"README's tour: {tried} lines, {failed} failed")
raise SystemExit(bool(failed or not tried))
P
echo "$found can be released"
