#!/bin/sh
# Runs every fuzz target for a number of seconds: sh core/fuzz/run.sh [SECONDS]
# The corpus that is found is kept in core/fuzz/corpus, a failing input in core/fuzz/artifacts.
set -eu
cd "$(dirname "$0")"
seconds=${1:-120}

if ! cargo fuzz --version >/dev/null 2>&1; then
    echo 'cargo-fuzz is not installed: cargo install cargo-fuzz --locked' >&2
    exit 1
fi
if ! cargo +nightly --version >/dev/null 2>&1; then
    echo 'a nightly compiler is needed: rustup toolchain install nightly --profile minimal' >&2
    exit 1
fi
for target in ipc_request wire_frame; do
    echo "== $target, $seconds s"
    cargo +nightly fuzz run --fuzz-dir . "$target" -- -max_total_time="$seconds" -max_len=8192 -print_final_stats=1
done
