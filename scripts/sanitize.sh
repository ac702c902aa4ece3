#!/usr/bin/env bash
# Kernels compiled without a warning by GCC and, where it is installed, Clang; then kernel, method and
# fitting tests and the kernel fuzzer on kernels built with GCC's sanitizers for addresses and undefined
# behaviour, in a copy of the package; SANITIZE=thread for data races.
#   scripts/sanitize.sh PYTHON SECONDS [tests ...]
set -euo pipefail
python=$1 seconds=$2
shift 2
kind=${SANITIZE:-address,undefined}
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cp -r setup.py pyproject.toml README.md LICENSE src tests docs benchmarks "$copy"
rm -f "$copy"/src/gaussnet/kernels/*.so
python=$(realpath -s "$python") fuzzer=$PWD/fuzz/fuzz_kernels.py
cd "$copy"
include=$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')
for compiler in gcc clang; do
  command -v $compiler >/dev/null || continue
  for source in module baseline avx2; do
    $compiler -O3 -std=gnu11 -Wall -Wextra -Wconversion -Wshadow -Wno-psabi -Werror -I"$include" \
      -Isrc/gaussnet/kernels/c -c src/gaussnet/kernels/c/$source.c -o "$copy/$source.o"
  done
  echo "$compiler: no warnings"
done
GAUSSNET_CFLAGS="-O1 -g1 -fno-omit-frame-pointer -fsanitize=$kind -fno-sanitize-recover=all" \
  GAUSSNET_LDFLAGS="-fsanitize=$kind" "$python" setup.py -q build_ext --inplace
case $kind in thread) library=libtsan.so ;; *) library=libasan.so ;; esac
# Beside the library that throws C++ exceptions, which else ends at the first one that pyarrow throws.
preloaded="$(gcc -print-file-name=$library) $(gcc -print-file-name=libstdc++.so.6)"
export LD_PRELOAD=$preloaded PYTHONPATH=$copy/src
# pytest keeps what a worker writes to its own end, so reports go to files.
trap 'cat "$copy"/report.* 2>/dev/null || true; rm -rf "$copy"' EXIT
export ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:log_path=$copy/report
export UBSAN_OPTIONS=print_stacktrace=1:log_path=$copy/report
export GAUSSNET_KERNELS=native
PYTHONMALLOC=malloc "$python" -W ignore "$fuzzer" --seconds "$seconds"
# Arrays and the kernels' own memory come from malloc here too; Python's small blocks do not, which
# halves the time.
[ $# -gt 0 ] || set -- tests/kernels tests/methods tests/fitting
"$python" -m pytest -q -n "${WORKERS:-2}" -p no:cacheprovider "$@"
