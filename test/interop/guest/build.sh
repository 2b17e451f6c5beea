#!/usr/bin/env bash
# Makes the guest of the interoperation tests in directory OUT: `kernel`, and `initrd`, a file system in memory with the
# kernel modules of Soft-RoCE, rdma-core's and perftest's programs, `replay-peer` of this directory, and `init`. All else comes from
# Debian packages; the kernel's and the headers of libibverbs are downloaded, the others must be installed. Needs root only
# because apt does.
#
#     build.sh OUT
set -euo pipefail
out=${1:?usage: build.sh OUT}
here=$(cd "$(dirname "$0")" && pwd)
export PATH=$PATH:/usr/sbin:/sbin

modules=(virtio_pci virtio_net virtio_console crc32_generic
  rdma_rxe ib_uverbs ib_umad rdma_ucm 9p 9pnet_virtio
  sch_netem sch_prio sch_ingress cls_u32 act_mirred ifb)
programs=(ip tc rdma modprobe tcpdump
  ibv_devices ibv_devinfo ibv_rc_pingpong ibv_uc_pingpong ibv_ud_pingpong ibv_srq_pingpong
  rping ucmatose udaddy mckey cmtime rstream riostream rcopy udpong curl nc.traditional
  ib_send_lat ib_send_bw ib_write_lat ib_write_bw ib_read_lat ib_read_bw ib_atomic_lat ib_atomic_bw)

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
root=$scratch/root

# The kernel, and of its modules those that are needed with all that they need.
package=$(apt-cache show --no-all-versions linux-image-amd64 2> apt.log | sed -n 's/^Depends: \(linux-image-[^ ,]*\).*/\1/p')
[ -n "$package" ] || { echo "apt knows no package linux-image-amd64: run apt-get update on a Debian host" >&2; exit 3; }
for name in "$package" libibverbs-dev; do
  apt-get -qq -o APT::Sandbox::User=root download "$name" > apt.log 2>&1 ||
    { echo "apt-get download $name failed: $(tail -n 1 apt.log)" >&2; exit 3; }
  dpkg-deb -x "$name"_*.deb package
done
release=$(ls package/lib/modules)
depmod -b package "$release"
mkdir -p "$root"/{bin,dev,etc/libibverbs.d,lib64,proc,run,sys,tmp,usr/bin,usr/sbin} "$root/lib/modules/$release"
for module in "${modules[@]}"; do
  modprobe -d package -S "$release" --show-depends "$module"
done | awk '$1 == "insmod" { print $2 }' | sort -u | while read -r file; do
  cp "$file" "$root/lib/modules/$release/"
done
cp package/lib/modules/"$release"/modules.{builtin,builtin.modinfo,order} "$root/lib/modules/$release/"
depmod -b "$root" "$release"

# Programs and the shared libraries that they load.
bring() {
  local file
  for file in "$@"; do
    mkdir -p "$root$(dirname "$file")"
    cp -Ln "$file" "$root$file" 2> /dev/null || true
  done
}
needed=()
for program in "${programs[@]}"; do
  path=$(command -v "$program") || { echo "$program is not installed" >&2; exit 3; }
  cp -L "$path" "$root/usr/bin/$program"
  needed+=("$path")
done
for provider in /usr/lib/*/libibverbs/librxe-rdmav*.so /usr/lib/*/rsocket/librspreload.so; do
  bring "$provider"
  needed+=("$provider")
done
for binary in "${needed[@]}" /bin/dash; do
  mapfile -t libraries < <(ldd "$binary" 2> /dev/null | grep -o '/[^ ]*' || true)
  bring "${libraries[@]}"
done
bring /lib/*/libgcc_s.so.1
# The programs above have brought the library that it is linked with.
gcc -O2 -Wall -Wextra -Werror -Ipackage/usr/include -o "$root/usr/bin/replay-peer" "$here/replay-peer.c" \
  "$(find /usr/lib/*/ -maxdepth 1 -name 'libibverbs.so.1' | head -n 1)"
cp /etc/libibverbs.d/rxe.driver "$root/etc/libibverbs.d/"
printf 'root:x:0:0::/:/bin/sh\n' > "$root/etc/passwd"

# The shell is not BusyBox's, which would take its own `ip` and `tc` for ours.
for shell in dash busybox; do cp "$(command -v "$shell")" "$root/bin/$shell"; done
ln -s dash "$root/bin/sh"
cp "$here/init" "$root/init"
cp "$here/agent" "$root/bin/agent"
chmod 755 "$root/init" "$root/bin/agent"

mkdir -p "$out"
cp "package/boot/vmlinuz-$release" "$out/kernel"
(cd "$root" && find . -mindepth 1 | cpio --quiet -o -H newc) | zstd -q -T0 -3 > "$out/initrd"
printf '%s\n' "$package" > "$out/package"
