#!/usr/bin/env bash
# Builds the static libjpeg-turbo that wheels contain, build/libjpeg/libjpeg.a: bash release/libjpeg.sh [source.tar.gz]
#
# Without an argument the source is downloaded. In either case its checksum must be the one below: that of the tag's
# archive. In a clone this makes the same: git -c tar.tar.gz.command='gzip -cn' archive --format=tar.gz
# --prefix=libjpeg-turbo-3.1.3/ 3.1.3. The release page has another archive, with another checksum.
# Requires cmake, a C compiler and, on x86, nasm: without SIMD code, decoding would be several times slower.
set -euo pipefail
cd "$(dirname "$0")/.."

version=3.1.3
sha256=3a13a5ba767dc8264bc40b185e41368a80d5d5f945944d1dbaa4b2fb0099f4e5
address=https://github.com/libjpeg-turbo/libjpeg-turbo/archive/refs/tags/$version.tar.gz
archive=${1:-build/libjpeg/source.tar.gz}

rm -rf build/libjpeg/cmake build/libjpeg/source
mkdir -p build/libjpeg/source
[ $# -gt 0 ] || curl --fail --silent --show-error --location --output "$archive" "$address" || {
  echo "cannot download $address; get it elsewhere and run: bash release/libjpeg.sh FILE.tar.gz (make wheel JPEG= does without)"
  exit 1
}
found=$(cmake -E sha256sum "$archive")
[ "${found%% *}" = "$sha256" ] || { echo "$archive is not libjpeg-turbo $version: its SHA-256 is ${found%% *}"; exit 1; }
tar -xzf "$archive" -C build/libjpeg/source --strip-components 1

# WITH_JPEG7 and WITH_JPEG8 are off: src/kernels/jpeg_abi.h declares the interface of libjpeg 6.2.
cmake -S build/libjpeg/source -B build/libjpeg/cmake -DCMAKE_BUILD_TYPE=Release -DCMAKE_POSITION_INDEPENDENT_CODE=ON \
  -DENABLE_SHARED=OFF -DREQUIRE_SIMD=ON -DWITH_JPEG7=OFF -DWITH_JPEG8=OFF -DWITH_TURBOJPEG=OFF -DWITH_TOOLS=OFF -DWITH_TESTS=OFF > build/libjpeg/log
cmake --build build/libjpeg/cmake --config Release --target jpeg-static --parallel 2 >> build/libjpeg/log
find build/libjpeg/cmake \( -name libjpeg.a -o -name jpeg-static.lib \) -exec cp {} build/libjpeg/libjpeg.a \;
test -s build/libjpeg/libjpeg.a
