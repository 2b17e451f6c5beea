/**
 * Has a replay peer make the queue pairs of a plan, says which they are, and lets it report when a line comes on standard input.
 *
 *     node replay-endpoint.mjs HOST PORT PLAN
 *
 * PLAN is JSON: connections, messages (packed, as in src/tools/replay/plan.ts) and the endpoints that this side is said to have.
 */
import { once } from 'node:events'
import { connect } from 'node:net'
import { createInterface } from 'node:readline'

const [host, port, text] = process.argv.slice(2)
const { connections, messages, endpoints } = JSON.parse(text)
const socket = connect(Number(port), host)
await once(socket, 'connect')
const lines = createInterface({ input: socket })[Symbol.asyncIterator]()

function say(message) {
  socket.write(`${JSON.stringify(message)}\n`)
}

async function hear(...types) {
  const { value, done } = await lines.next()
  if (done) throw new Error(`the peer left before it said ${types.join(' or ')}`)
  const message = JSON.parse(value)
  if (!types.includes(message.type)) throw new Error(`the peer said ${value}`)
  return message
}

const settings = { protocol: 1, device: 'roce:test', mode: 'open', speed: null, depth: 16, stallMs: 20_000 }
say({ type: 'hello', ...settings, connections, messages: messages.length })
say({ type: 'messages', messages })
await hear('next')
say({ type: 'endpoints', device: settings.device, endpoints })
const theirs = (await hear('endpoints')).endpoints
await hear('ready')
say({ type: 'ready' })
say({ type: 'start' })
console.log(JSON.stringify(theirs))
await once(process.stdin, 'data')
say({ type: 'done' })
const { report } = await hear('report')
console.log(JSON.stringify(report))
socket.end()
process.exit()
