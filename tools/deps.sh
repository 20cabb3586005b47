#!/bin/sh
# deps.sh [--original] - install the Debian packages that building and testing need.
#
# Only what is missing is installed. Without root, or where apt-get does not
# exist, it prints exactly what to install and exits with 1.
#   --check      change nothing; exit with 1 when something required is missing
#   --original   also Debian's corosync and libcpg-dev, which the comparison needs;
#                they are never installed unasked, because the package starts a daemon
set -u

check=no original=no
for arg in "$@"; do
	case $arg in
	--check) check=yes ;;
	--original) original=yes ;;
	*) sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
	esac
done

have() { command -v "$1" >/dev/null 2>&1; }

# rustc brings its own lld for x86_64 Linux; elsewhere the system's is needed for symbol versions
have_lld() {
	have ld.lld && return 0
	root=$(rustc --print sysroot 2>/dev/null) || return 1
	for found in "$root"/lib/rustlib/*/bin/gcc-ld/ld.lld; do [ -x "$found" ] && return 0; done
	return 1
}

have_libc_headers() { echo '#include <stdio.h>' | cc -E - >/dev/null 2>&1; }

have_libclang() {
	for found in "${LIBCLANG_PATH:-/nonexistent}"/libclang*.so* /usr/lib/llvm-*/lib/libclang*.so* \
		/usr/lib/*/libclang*.so* /usr/lib/libclang*.so* /usr/lib64/libclang*.so*; do
		[ -e "$found" ] && return 0
	done
	return 1
}

missing='' wanted=''
# need PACKAGE WHY TEST...
need() {
	package=$1 why=$2; shift 2
	"$@" && return
	missing="$missing $package"
	wanted="$wanted
  $package	$why"
}

need gcc 'C compiler and linker' have cc
need libc6-dev 'C headers' have_libc_headers
need g++ 'the headers must also compile as C++' have c++
need binutils 'readelf and nm, for the ABI tests' have readelf
need lld 'linker that writes symbol versions for Rust libraries' have_lld
need libclang-dev 'bindgen reads the generated headers back in a layout test' have_libclang
need pkg-config 'the tests link programs the way users do' have pkg-config
need procps 'ps and pkill, for the tests on processes' have ps
if [ "$original" = yes ]; then
	need corosync 'the original daemon, to compare with' test -x /usr/sbin/corosync
	need libcpg-dev "the original's headers and libcpg" test -e /usr/include/corosync/cpg.h
fi

if ! have cargo; then
	echo 'deps: cargo is not in PATH: install Rust 1.90 or newer' >&2
	exit 1
fi
if [ ! -x /usr/sbin/corosync ] && [ "$original" = no ] && [ "$check" = no ]; then
	echo "deps: optional: corosync and libcpg-dev, to compare with the original ('make deps ORIGINAL=1' installs them)"
fi
[ -n "$missing" ] || exit 0

if [ "$check" = yes ] || [ "$(id -u)" != 0 ] || ! have apt-get; then
	printf 'deps: missing:%s\n' "$wanted" >&2
	printf 'deps: install as root:\n  apt-get install --no-install-recommends%s\n' "$missing" >&2
	exit 1
fi

echo "deps: installing$missing"
install_packages() {
	# the list of packages is a list of words
	# shellcheck disable=SC2086
	DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $missing </dev/null
}
install_packages || { apt-get update -q </dev/null && install_packages; } || {
	echo "deps: could not install$missing" >&2
	exit 1
}
case "$missing " in
*' corosync '*)
	# the package starts and enables its service; nobody asked for a running cluster
	if [ -d /run/systemd/system ]; then systemctl disable --now corosync
	elif [ -x /etc/init.d/corosync ]; then /etc/init.d/corosync stop; fi >/dev/null 2>&1
	;;
esac
exit 0
