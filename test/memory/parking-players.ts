/** Starting the other side of parking.test.ts: parking.process.ts, as a process or as a thread. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { startThread } from '../../src/memory/index.ts'
import { startable } from '../entries.ts'
import type { Game } from './parking-game.ts'

export interface Player {
  /** Its attachment in each segment. */
  readonly attachments: readonly number[]
  readonly pid: number
  kill(): Promise<void>
}

/** Starts one that plays this game, which begins when it has said that it is there. */
export async function startPlayer(game: Game, where: 'process' | 'thread'): Promise<Player> {
  const module = new URL('./parking.process.ts', import.meta.url)
  if (where === 'thread') {
    const thread = startThread(module, { workerData: game })
    const [attachments] = await once(thread, 'message')
    return { attachments, pid: process.pid, kill: async () => void (await thread.terminate()) }
  }
  const { file, execArgv } = startable(module)
  const child = fork(file, [JSON.stringify(game)], { execArgv })
  const [attachments] = await once(child, 'message')
  const ended = once(child, 'exit')
  return {
    attachments,
    pid: child.pid!,
    async kill() {
      child.kill('SIGKILL')
      await ended
    },
  }
}
