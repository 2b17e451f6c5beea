/** Binds a datagram socket while no descriptor is left, and again when there are some. Prints what happened, as JSON. */
import { closeSync, openSync } from 'node:fs'
import { AF_INET, errnoName, rsocket, SOCK_DGRAM } from 'verbena'

const uncaught = []
process.on('uncaughtException', (error) => uncaught.push(error.code ?? error.message))
const bind = () => {
  const socket = rsocket(AF_INET, SOCK_DGRAM, 0, { device: 'shm0' })
  const from = performance.now()
  const result = socket.bind({ address: '127.0.0.1', port: 0 })
  socket.close()
  return { result: result < 0 ? errnoName(result) : result, ms: performance.now() - from, reason: socket.reason }
}
const all = []
try {
  for (;;) all.push(openSync('/dev/null', 'r'))
} catch {
  // That was the last one.
}
for (const descriptor of all.splice(0, 3)) closeSync(descriptor)
const without = bind()
for (const descriptor of all) closeSync(descriptor)
const withSome = bind()
setImmediate(() => {
  console.log(JSON.stringify({ without, withSome, uncaught }))
  process.exit()
})
