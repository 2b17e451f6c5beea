#!/bin/sh
# The golden files of this folder: made by the programs of a VILLASnode. PROGRAMS=FOLDER_OF_ITS_PROGRAMS ./make.sh
set -eu
cd "$(dirname "$0")"
convert() { "$PROGRAMS/villas-convert" -d off -i villas.human -o "$2" -t "$3" < "$1" 2>/dev/null; }
convert mixed.input json 2f1i1b1c > mixed.jsonl
for format in villas.human csv tsv protobuf; do convert mixed.input $format 2f1i1b1c > "mixed.$format"; done
convert mixed.input '{"type":"csv","separator":";","real_precision":3}' 2f1i1b1c > mixed.csv-semicolon
convert mixed.input '{"type":"villas.human","header":false,"real_precision":2}' 2f1i1b1c > mixed.human-2
convert mixed.input '{"type":"json","compact":true,"sort_keys":true}' 2f1i1b1c > mixed.json-compact
for bits in 32 64; do for order in little big; do
  convert mixed.input "{\"type\":\"raw\",\"bits\":$bits,\"endianess\":\"$order\"}" 2f1i1b1c > "mixed.raw-$bits-$order"
  convert mixed.input "{\"type\":\"raw\",\"bits\":$bits,\"endianess\":\"$order\",\"fake\":true}" 2f1i1b1c > "mixed.fake-$bits-$order"
done; done
for format in villas.binary villas.web gtnet opal.asyncip; do convert floats.input $format 4f > "floats.$format"; done
convert one.input value 1f > one.value

# What its nodes of networks send is not what its files have: datagrams of the node-type socket.
for format in csv tsv villas.human json protobuf villas.binary; do
  python3 - "$format" "$PROGRAMS" <<'P' > "network.$format.bytes"
import json, os, socket, subprocess, sys, tempfile
receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
receiver.bind(('127.0.0.1', 0))
receiver.settimeout(20)
address = '127.0.0.1:%d' % receiver.getsockname()[1]
node = {'type': 'socket', 'format': sys.argv[1], 'in': {'address': '127.0.0.1:0'}, 'out': {'address': address}}
with tempfile.NamedTemporaryFile('w', suffix='.json') as file:
    json.dump({'nodes': {'udp': node}}, file)
    file.flush()
    pipe = subprocess.Popen([sys.argv[2] + '/villas-pipe', '-s', '-d', 'off', file.name, 'udp', '-t', '4f'],
                            stdin=open('floats.input'), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(3):
        os.write(1, receiver.recv(65536))
    pipe.kill()
P
done
