// Connects with verbena/net, and leaves in the way that it is told, with the connection open.
import { connect } from 'verbena/net'

const [device, host, port, how] = process.argv.slice(2)
const socket = connect({ device, host, port: Number(port) })
socket.on('data', () => {
  if (how === 'exit') process.exit(3)
  else throw new Error('not caught')
})
socket.write('here')
