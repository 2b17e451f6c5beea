/** Parts of VILLASnode that this gateway does not have, by name, each with the reason and its replacement. */

function device(needs: string): string {
  return `it needs ${needs}. Leave it to a VILLASnode and join the two by the node-type socket, or join a program that speaks it by exec`
}

/** Types of nodes. */
export const missingTypes: Readonly<Record<string, string>> = {
  'c37.118': device('the protocol of synchrophasors'),
  can: device("Linux's SocketCAN"),
  comedi: device('a data acquisition card'),
  ethercat: device('an EtherCAT master'),
  example: 'it is a template for programmers. The node-type signal generates samples',
  fpga: device('an FPGA of VILLASfpga'),
  'iec60870-5-104': device('the protocol of telecontrol stations'),
  'iec61850-8-1': device('the protocol GOOSE, in Ethernet frames'),
  'iec61850-9-2': device('the protocol of Sampled Values, in Ethernet frames'),
  modbus: device('the protocol Modbus'),
  nanomsg: 'no library for it is kept any more. Use the node-type zeromq at both ends',
  ngsi: device('a FIWARE context broker'),
  'opal.async': device("libraries of OPAL-RT's simulators"),
  'opal.orchestra': device("libraries of OPAL-RT's Orchestra"),
  opendss: device('the simulator OpenDSS'),
  rtp: 'its transport is not there. The node-type socket carries samples by UDP',
  temper: device('a USB thermometer'),
  uldaq: device('a data acquisition device of Measurement Computing'),
  webrtc: 'its transport is not there. The node-type websocket reaches browsers, too',
}

/** Formats. */
export const missingFormats: Readonly<Record<string, string>> = {
  iotagent_ul: 'FIWARE brokers take it; send json to them through an IoT agent for JSON',
  'json.edgeflex': 'it is the dialect of one project; use json, and a program between as node-type exec',
  'json.kafka':
    'it has the schema of Kafka Connect around each sample. Use json, which the node-type kafka carries, too',
  'json.reserve': 'it is the dialect of one project; use json, and a program between as node-type exec',
}

/** Settings of the whole configuration. */
export const missingSettings: Readonly<Record<string, string>> = {
  ethercat: 'it is for the node-type ethercat, which is not there',
  fpgas: 'they are for the node-type fpga, which is not there',
}
