/** `verbena/dgram`: the interface of `node:dgram`, over rsockets on any device. */
import './index.ts'
import dgram from './node/dgram/index.ts'

export * from './node/dgram/index.ts'
export default dgram
