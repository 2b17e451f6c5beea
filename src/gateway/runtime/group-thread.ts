/** The thread of a group: starts its members, runs its loop, stops everything in order. Ends when it has reported that it has stopped. */
import { parentPort } from 'node:worker_threads'
import { currentCores, pinThread, threadData } from '../../memory/index.ts'
import { Command, Control } from './control.ts'
import { Group } from './group.ts'
import { Members, StartError } from './members.ts'
import type { GroupData, GroupMessage } from './messages.ts'

const port = parentPort!
const data = threadData<GroupData>()
const control = new Int32Array(data.control)

function post(message: GroupMessage): void {
  port.postMessage(message)
}

let wake = (): void => {}
// A message only indicates that there is something to look at.
port.on('message', () => wake())

if (data.affinity !== 0) pinThread(coresOf(data.affinity))

try {
  await run()
} catch (error) {
  const node = error instanceof StartError ? error.node : ''
  post({ kind: 'failed', node, message: (error as Error).message })
  post({ kind: 'stopped', nodes: [] })
}
port.close()

async function run(): Promise<void> {
  const members = await Members.start(data, {
    log: (level, node, line) => post({ kind: 'log', level, node, line }),
    failed: (node, { message }) => {
      post({ kind: 'failed', node, message })
      group?.choose()
    },
    finished: (node) => post({ kind: 'finished', node }),
    isStopping: () => Atomics.load(control, Control.stopping) !== 0,
    wake: () => wake(),
  })
  const report = (): void => post({ kind: 'report', nodes: members.reports() })
  const { readers, writers, paths, repeaters, needsTurns } = members
  let group: Group | undefined = new Group(control, {
    ...{ readers, writers, paths, repeaters, needsTurns },
    periodic: () => {
      members.periodic()
      report()
    },
    ended: () => post({ kind: 'ended' }),
  })
  wake = () => group?.wake()
  report()
  post({ kind: 'ready' })
  let tick = 0
  while (Atomics.load(control, Control.command) === Command.hold) {
    await group.event()
    if (Atomics.load(control, Control.tick) === tick) continue
    tick = Atomics.load(control, Control.tick)
    report()
  }
  await group.run()
  group.drain(Atomics.load(control, Control.command) === Command.drain)
  group = undefined
  post({ kind: 'stopped', nodes: await members.stop() })
}

function coresOf(bits: number): number[] {
  return currentCores().filter((core) => Math.floor(bits / 2 ** core) % 2 === 1)
}
