#!/bin/sh
# Unpacks into build/arm_python an aarch64 Python for qemu-user to run, with NumPy, ml_dtypes and what tests/cases imports.
# Nothing is installed: apt downloads from this machine's sources, with a state of its own. Fails with a line that says what
# is missing.
set -eu
cd "$(dirname "$0")/.."
version=3.11
to=$PWD/build/arm_python
[ ! -e "$to/complete" ] || exit 0
without() { echo "aarch64: no calls are compared, as $1 (build/arm_python.log)"; exit 1; }

download() {
  set -- -qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o APT::Sandbox::User=root -o Dir::State="$to/apt" \
    -o Dir::State::status=/dev/null -o Dir::Cache="$to/apt"
  apt-get "$@" update && cd "$to/apt/archives" &&
    apt-get "$@" download python$version-minimal libpython$version-minimal libpython$version-stdlib libpython$version-dev \
      zlib1g libexpat1 libffi8
}

rm -rf "$to"
mkdir -p "$to/apt/lists/partial" "$to/apt/archives/partial"
(download) >build/arm_python.log 2>&1 || without "apt-get downloads no python$version of arm64"
for package in "$to"/apt/archives/*.deb; do dpkg-deb -x "$package" "$to"; done
rm -r "$to/apt"
mv "$to/usr/include/aarch64-linux-gnu/python$version/pyconfig.h" "$to/usr/include/python$version"  # where a compiler finds it
python3 -m pip --disable-pip-version-check install --no-compile --only-binary=:all: --python-version $version \
  --platform manylinux_2_28_aarch64 --target "$to/site" numpy ml_dtypes rich pytest >build/arm_python.log 2>&1 ||
  without "pip downloads no NumPy of aarch64"
: >"$to/complete"
