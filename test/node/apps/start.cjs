// Prints after each of some steps what of the library this process has: its files, by the first module of each; native code; threads; ranges of addresses that nobody needs.
const { readFileSync } = require('node:fs')
const { Session } = require('node:inspector')
const { connect, createServer } = require('node:net')
const { basename, dirname } = require('node:path')
const { Worker } = require('node:worker_threads')

const dist = dirname(require.resolve('verbena'))

function scripts() {
  const found = []
  const session = new Session()
  session.connect()
  session.on('Debugger.scriptParsed', ({ params: { url } }) => {
    if (url.startsWith(`file://${dist}/`)) found.push(basename(url))
  })
  session.post('Debugger.enable')
  session.disconnect()
  return found
}

function report(step) {
  const maps = readFileSync('/proc/self/maps', 'latin1').split('\n')
  const sizes = maps
    .map((line) => /^(\w+)-(\w+)/.exec(line))
    .map((range) => (range ? Number.parseInt(range[2], 16) - Number.parseInt(range[1], 16) : 0))
  const native = maps.some((line) => line.includes('koffi'))
  console.log(
    JSON.stringify({
      step,
      native,
      large: sizes.filter((size) => size > 2 ** 32).length,
      workers: process.report.getReport().workers.length,
      files: scripts(),
    }),
  )
}

const once = (emitter, event) => new Promise((resolve) => emitter.once(event, resolve))

async function reach(host, port) {
  const socket = connect(port, host)
  socket.resume().on('error', () => {})
  await once(socket, 'close')
}

async function main() {
  report('started')
  const server = createServer((socket) => socket.end())
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address()
  await reach('127.0.0.1', port)
  report('tcp')
  const worker = new Worker('', { eval: true })
  await once(worker, 'exit')
  report('worker')
  await reach('localhost', port)
  report('name')
  await reach('127.0.0.9', port)
  report('rdma')
  server.close()
}

void main()
