/** `verbena/net`: the interface of `node:net`, over rsockets on any device. */
import './index.ts'
import net from './node/net/index.ts'

export * from './node/net/index.ts'
export default net
