#!/usr/bin/env bash
# The tests that depend on the processor, as other processors would run them: one line each.
#   scripts/test_matrix.sh PYTHON [--short]
set -uo pipefail
python=$1
if [ "${2:-}" = --short ]; then
  tests=(tests/kernels/test_core.py tests/planning/test_paper_and_targets.py tests/model/test_distances.py)
else
  tests=(tests/kernels tests/methods tests/fitting tests/planning tests/model)
fi
said=$(mktemp)
trap 'rm -f "$said"' EXIT
features=$("$python" -c '
try:
    from numpy._core._multiarray_umath import __cpu_dispatch__ as known, __cpu_features__ as here
except ImportError:
    from numpy.core._multiarray_umath import __cpu_dispatch__ as known, __cpu_features__ as here
print(" ".join(one for one in known if here.get(one)))')
failed=0
line() { # line NAME [VARIABLE=VALUE ...] -- [pytest options]
  local name=$1 settings=()
  shift
  while [ "$1" != -- ]; do settings+=("$1"); shift; done
  shift
  local last
  last=$(env "${settings[@]}" "$python" -m pytest -q -n "${WORKERS:-2}" -o addopts=--doctest-modules "${tests[@]}" "$@" 2>&1 | tee "$said" | tail -1)
  if ! grep -q "passed" <<<"$last" || grep -Eq "failed|error" <<<"$last"; then
    failed=1
    grep -E "^(FAILED|ERROR)" "$said" | head -20
  fi
  echo "| $name | $last |"
}
seed=0 # three of them, on the way
for core in Haswell SkylakeX Prescott; do
  seed=$((seed + 1))
  line "OPENBLAS_CORETYPE=$core, Hypothesis seed $seed" "OPENBLAS_CORETYPE=$core" -- --hypothesis-seed=$seed
done
line "NPY_DISABLE_CPU_FEATURES=$features" "NPY_DISABLE_CPU_FEATURES=$features" --
line "GAUSSNET_KERNELS=numpy" GAUSSNET_KERNELS=numpy --
exit $failed
