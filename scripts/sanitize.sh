#!/usr/bin/env bash
# Kernel, estimate and fitting tests and the kernel fuzzer on kernels built with GCC's sanitizers for
# addresses and undefined behaviour, in a copy of the package; SANITIZE=thread for data races.
#   scripts/sanitize.sh PYTHON SECONDS [tests ...]
set -euo pipefail
python=$1 seconds=$2
shift 2
kind=${SANITIZE:-address,undefined}
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cp -r setup.py pyproject.toml README.md LICENSE src tests "$copy"
rm -f "$copy"/src/gaussnet/kernels/*.so
python=$(realpath -s "$python") fuzzer=$PWD/fuzz/fuzz_kernels.py
cd "$copy"
GAUSSNET_CFLAGS="-O1 -g1 -fno-omit-frame-pointer -fsanitize=$kind -fno-sanitize-recover=all" \
  GAUSSNET_LDFLAGS="-fsanitize=$kind" "$python" setup.py -q build_ext --inplace
case $kind in thread) library=libtsan.so ;; *) library=libasan.so ;; esac
export LD_PRELOAD=$(gcc -print-file-name=$library) PYTHONPATH=$copy/src PYTHONMALLOC=malloc
export ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1
export GAUSSNET_KERNELS=native
"$python" -W ignore "$fuzzer" --seconds "$seconds"
"$python" -m pytest -q -p no:cacheprovider "${@:-tests/kernels}"
