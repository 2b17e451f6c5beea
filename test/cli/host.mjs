/** A process that runs one command after the other: see hosts.ts. */
import { Writable } from 'node:stream'

const { run } = await import(process.argv[2])
let interrupter

const output = (name) =>
  new Writable({
    decodeStrings: false,
    write(text, _encoding, done) {
      process.send({ [name]: text.toString() }, done)
    },
  })

process.on('message', async ({ argv, signal }) => {
  if (signal !== undefined) interrupter?.abort(signal)
  else {
    interrupter = new AbortController()
    const [stdout, stderr] = [output('stdout'), output('stderr')]
    const code = await run(argv, { stdout, stderr, signal: interrupter.signal })
    await Promise.all([stdout, stderr].map((stream) => new Promise((done) => stream.end(done))))
    process.send({ code })
  }
})
process.on('disconnect', () => process.exit())
// Ctrl-C at a terminal is for the whole group of processes: vitest ends, and the channel with it.
process.on('SIGINT', () => {})
