#!/usr/bin/env bash
# Keeps a network namespace with a bridge for as long as its standard input is open: however the tests end, even when they
# are killed, their guests, captures and programs end too, because all of them run in this namespace.
#
#     keeper.sh NAMESPACE DIRECTORY MTU LINKS ADDRESS…
#
# link1, link2, … are taps on the bridge. It says `ready` when all is there. DIRECTORY is removed at the end, too.
set -euo pipefail
export PATH=$PATH:/usr/sbin:/sbin
namespace=$1 directory=$2 mtu=$3 links=$4
shift 4
# Interrupts are for the tests; the end of the input comes after them.
trap '' INT TERM HUP PIPE

end() {
  local pids
  for signal in TERM KILL; do
    pids=$(ip netns pids "$namespace" 2> /dev/null) || break
    [ -n "$pids" ] || break
    kill -s "$signal" $pids 2> /dev/null || true
    for _ in 1 2 3 4 5 6 7 8 9 10; do
      [ -n "$(ip netns pids "$namespace")" ] || break
      sleep 0.1
    done
  done
  ip netns del "$namespace"
  rm -rf "$directory"
}

ip netns add "$namespace"
trap end EXIT
inside() { ip netns exec "$namespace" "$@"; }
inside ip link set lo up
inside ip link add br0 type bridge mcast_snooping 0
inside ip link set br0 mtu "$mtu" up
for ((i = 1; i <= links; i++)); do
  inside ip tuntap add "link$i" mode tap
  inside ip link set "link$i" mtu "$mtu" master br0 up
done
for address in "$@"; do
  case $address in
    *:*) inside ip -6 address add "$address" dev br0 nodad ;;
    *) inside ip address add "$address" dev br0 ;;
  esac
done
echo ready
cat > /dev/null
