// What two processes that share a device hear when the host's network changes: prints it as JSON. In a network namespace of its own.
import { execFileSync, fork } from 'node:child_process'
import { nameOf, openDevice, PortState } from '../../../dist/index.js'

const context = openDevice(process.env.DEVICE)

/** What queries say now, and what has been heard since. */
const look = () => {
  const heard = []
  for (let event = context.pollAsyncEvent(); event !== null; event = context.pollAsyncEvent()) {
    heard.push(`${event.name} ${event.portNum}`)
    context.ackAsyncEvent(event)
  }
  const { state, physState, activeMtu } = context.queryPort(1)
  const gids = context.queryGidTable().map(({ gid, gidIndex }) => `${gidIndex} ${gid.slice(12).join('.')}`)
  return { now: { state: nameOf(PortState, state), physState, activeMtu, gids }, heard }
}

if (process.argv[2] === 'other') {
  process.on('message', () => process.send(look()))
  process.send('up')
} else {
  const other = fork(new URL(import.meta.url), ['other'])
  const message = () => new Promise((resolve) => other.once('message', resolve))
  await message()
  const steps = []
  for (const { name, command, now, heard } of JSON.parse(process.env.STEPS)) {
    if (command !== '') execFileSync('sh', ['-c', command])
    const said = { name, here: { now: null, heard: [] }, there: { now: null, heard: [] } }
    // Until both see what is expected, or for so long that it will not come.
    for (let looks = 0; looks < 400; looks++) {
      other.send('')
      for (const [place, seen] of Object.entries({ here: look(), there: await message() })) {
        said[place].now = seen.now
        said[place].heard.push(...seen.heard)
      }
      const isThere = ({ here, there }) =>
        [here, there].every((one) => JSON.stringify(one) === JSON.stringify({ now, heard }))
      if (isThere(said)) break
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    steps.push(said)
  }
  console.log(JSON.stringify(steps))
  other.disconnect()
  process.exit()
}
