// A process that connects to a server, says one word, and ends: `leaver.mjs DEVICE PORT HOST exit|throw|idle-exit|wait`.
import net from 'verbena/net'

const [device, port, host, how] = process.argv.slice(2)
const socket = net.connect({ device, port: Number(port), host })
socket.write('hello')
// What the server answers says that it has accepted the connection and got the word.
socket.once('data', () => {
  const end = () => {
    if (how === 'throw') throw new Error('on purpose')
    process.exit(0)
  }
  if (how === 'wait') process.stdout.write('connected')
  else if (how === 'idle-exit') setTimeout(end, 300)
  else end()
})
