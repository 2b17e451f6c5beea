// Two processes with the option `reusePort` of Node.js 22.12 and later, and no cluster; the first connects to both.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { show } from './main.mjs'

const [host = '127.0.0.1', port = '0'] = process.argv.slice(2)
const own = createServer((socket) => socket.end(process.send ? 'child' : 'parent'))
own.listen({ host, port: Number(port), reusePort: true })
await once(own, 'listening')
if (process.send) {
  process.once('disconnect', () => process.exit())
  process.send('listening')
} else {
  const child = fork(process.argv[1], [host, String(own.address().port)])
  await once(child, 'message')
  const seen = new Set()
  while (seen.size < 2) {
    const client = connect(own.address().port, host)
    const [data] = await once(client, 'data')
    seen.add(data.toString())
    client.end()
    await once(client, 'close')
  }
  show([...seen].sort().join(', '))
  const alone = createServer().listen(own.address().port, host)
  show((await once(alone, 'error'))[0].code)
  child.disconnect()
  own.close()
}
