#!/bin/sh
# Builds wheels for old systems, as root in a Debian 11 (glibc 2.31, GCC 10):
#   sh packaging/debian11.sh PYTHON...
# Each PYTHON, 3.10 or later, must run there and have its headers. XRT's headers and Verilator come
# from Debian 12, unpacked beside it; Verilator runs with that system's C library.
set -eu
newer=/opt/debian12
apt-get update -q
apt-get install -y -q --no-install-recommends ca-certificates cmake g++ git make python3 uuid-dev

mkdir -p "$newer/lists/partial" "$newer/cache/archives/partial"
sed -n 's/bullseye main/bookworm main/p' /etc/apt/sources.list > "$newer/sources.list"
apt_newer() {
    apt-get -q -oDir::Etc::SourceList="$newer/sources.list" -oDir::Etc::SourceParts=/dev/null \
        -oDir::State::lists="$newer/lists" -oDir::Cache="$newer/cache" -oAPT::Sandbox::User=root "$@"
}
apt_newer update
(cd "$newer" && apt_newer download libc6 libgcc-s1 libstdc++6 libxrt1 libxrt-dev verilator)
for package in "$newer"/*.deb; do dpkg -x "$package" "$newer"; done
cat > /usr/local/bin/verilator <<EOF
#!/bin/sh
libraries=$newer/lib/x86_64-linux-gnu
export VERILATOR_ROOT=$newer/usr/share/verilator
exec \$libraries/ld-linux-x86-64.so.2 --library-path \$libraries:$newer/usr/lib/x86_64-linux-gnu \\
    $newer/usr/bin/verilator_bin "\$@"
EOF
chmod +x /usr/local/bin/verilator
CMAKE_ARGS="-DXRT_INCLUDE_DIR=$newer/usr/include/xrt"
CMAKE_ARGS="$CMAKE_ARGS -DXRT_COREUTIL=$newer/usr/lib/x86_64-linux-gnu/libxrt_coreutil.so"
export CMAKE_ARGS

cd "$(dirname "$0")/.."
for python in "$@"; do
    rm -rf .venv build/module # another Python's
    make wheel PYTHON="$python"
done
