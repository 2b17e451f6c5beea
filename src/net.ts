/** `verbena/net`: the shape of `node:net`, over rsockets on any device. */
import './index.ts'
import net from './rsocket/net/index.ts'

export * from './rsocket/net/index.ts'
export default net
