#!/bin/sh
# GoogleTest is not on the Python registries: take the installed one, else the system's package, else leave it to CMake
# (tests/cpp/CMakeLists.txt), which fetches it or says what to install.
set -u

has_googletest() {
  printf '#include <gtest/gtest.h>\n' | ${CXX:-c++} -E -x c++ - >/dev/null 2>&1
}

has_googletest && exit 0

as_root=
if [ "$(id -u)" != 0 ]; then
  command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null || exit 0
  as_root="sudo -n"
fi
echo "GoogleTest is missing: installing it with the system's package manager."
if command -v apt-get >/dev/null 2>&1; then
  $as_root env DEBIAN_FRONTEND=noninteractive sh -c 'apt-get -qq update && apt-get -qq install -y libgtest-dev' </dev/null >/dev/null 2>&1
elif command -v dnf >/dev/null 2>&1; then
  $as_root dnf -q -y install gtest-devel </dev/null >/dev/null 2>&1
elif command -v zypper >/dev/null 2>&1; then
  $as_root zypper -q -n install gtest </dev/null >/dev/null 2>&1
fi
exit 0
