#!/bin/sh
# Builds Crystal from this checkout and installs it.
#
#   scripts/install.sh [--prefix DIR] [--name NAME]
#
# DIR defaults to ~/.local. Where another `crystal` is on the path already (the Crystal language has a compiler of
# that name) the command is installed as `crystal-agent`, unless --name says otherwise.
set -eu

prefix="${HOME:?HOME is not set: name a directory with --prefix}/.local"
name=""
while [ $# -gt 0 ]; do
    case "$1" in
        --prefix) prefix="${2:?--prefix needs a directory}"; shift 2 ;;
        --name) name="${2:?--name needs a name}"; shift 2 ;;
        -h|--help) sed -n '2,7s/^# \{0,1\}//p' "$0"; exit 0 ;;
        *) echo "install.sh: unknown option '$1'; try --help" >&2; exit 1 ;;
    esac
done

case "$(uname -s)-$(uname -m)" in
    Linux-x86_64|Linux-aarch64|Darwin-x86_64|Darwin-arm64) ;;
    *) echo "install.sh: Crystal supports Linux and macOS on x86-64 and arm64, not $(uname -s) on $(uname -m)" >&2; exit 1 ;;
esac
if ! command -v cargo >/dev/null 2>&1; then
    echo "install.sh: cargo was not found: install Rust 1.95 or newer first" >&2
    exit 1
fi

bin="$prefix/bin"
if [ -z "$name" ]; then
    name=crystal
    other=$(command -v crystal || true)
    if [ -n "$other" ] && [ "$other" != "$bin/crystal" ] && ! "$other" version 2>/dev/null | grep -q '^crystal .*agent'; then
        name=crystal-agent
        echo "Another crystal is at $other, so this one is installed as crystal-agent (--name crystal overrides that)."
    fi
fi

cd "$(dirname "$0")/.."
cargo build --release --locked
target="${CARGO_TARGET_DIR:-target}"
mkdir -p "$bin"
# A running program cannot be overwritten in place, so the new file is moved over the old one.
cp "$target/release/crystal" "$bin/.$name.new"
mv -f "$bin/.$name.new" "$bin/$name"

man="$prefix/share/man/man1"
mkdir -p "$man"
"$bin/$name" completions man > "$man/$name.1"
for shell in bash zsh fish; do
    case "$shell" in
        bash) dir="$prefix/share/bash-completion/completions"; file="$name" ;;
        zsh) dir="$prefix/share/zsh/site-functions"; file="_$name" ;;
        fish) dir="$prefix/share/fish/vendor_completions.d"; file="$name.fish" ;;
    esac
    mkdir -p "$dir"
    "$bin/$name" completions "$shell" > "$dir/$file"
done

echo "Installed $bin/$name"
case ":$PATH:" in
    *":$bin:"*) ;;
    *) echo "Add $bin to your PATH to run it by name." ;;
esac
