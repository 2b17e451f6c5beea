/** The process of a part of a run: it executes the requests of its parent, reports its status, and ends with its parent. */
import { LocalPart, type PartStatus } from './part.ts'
import type { FromPart, ToPart } from './part-messages.ts'

const statusMs = 50

let part: LocalPart | undefined
let timer: NodeJS.Timeout | undefined

function status(): PartStatus {
  const { user, system } = process.cpuUsage()
  return { ...part!.status, cpuUs: user + system }
}

function say(message: FromPart): void {
  if (process.connected) process.send!(message)
}

async function take(message: ToPart): Promise<void> {
  if (message.kind === 'start') {
    try {
      part = await LocalPart.start(message, (line) => say({ kind: 'log', line }))
    } catch (error) {
      say({ kind: 'failed', message: (error as Error).message })
      process.disconnect()
      return
    }
    say({ kind: 'started', status: status() })
    timer = setInterval(() => say({ kind: 'status', status: status() }), statusMs)
  } else if (message.kind === 'ask') part?.ask()
  else if (message.kind === 'release') part?.release()
  else {
    clearInterval(timer)
    await part?.stop()
    if (part !== undefined) say({ kind: 'stopped', status: status() })
    process.disconnect()
  }
}

process.on('message', (message: ToPart) => void take(message))
// Ctrl-C goes to all processes of the terminal; the parent decides what it means.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => {})
process.on('disconnect', () => {
  clearInterval(timer)
  void part?.stop()
})
