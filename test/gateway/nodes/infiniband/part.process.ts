/** A process with one node: fork(part.process.ts), then its name and settings as a message. It says what it reads, and writes as it is told. */
import { Bed } from './bed.ts'

interface Part {
  name: string
  device: string
  settings: object
  /** Writes samples all the time. */
  writes: boolean
}

process.once('message', async ({ name, device, settings, writes }: Part) => {
  const bed = new Bed({ device })
  const node = await bed.start(name, settings)
  let state = ''
  let sequence = 0
  let stopping = false
  process.on('message', () => {
    stopping = true
  })
  while (!stopping) {
    if (node.state !== state) {
      state = node.state
      process.send!({ state })
    }
    const read = node.read()
    if (read.length > 0) process.send!({ read })
    if (writes && state === 'connected') node.write([sequence++])
    node.flush()
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
  await node.stop()
  process.send!({ missing: await bed.stop() }, () => process.exit())
})
process.send!('ready')
