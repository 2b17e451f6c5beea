/** Processes that compute beside a measurement or a command: they end with whoever started them. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, it } from 'vitest'
import { Load, onCores } from '../../bench/load.ts'

const script = fileURLToPath(new URL('../../scripts/beside-load.ts', import.meta.url))
const linux = process.platform === 'linux'

/** Whether the process is there and no zombie. */
function lives(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

const started: number[] = []
afterEach(() => {
  for (const pid of started.splice(0)) if (lives(pid)) process.kill(pid, 'SIGKILL')
})

/** The script beside so many processes that compute. */
function beside(count: number, command: string[]): ChildProcess {
  const child = spawn(process.execPath, ['--import', 'tsx', script, String(count), ...command], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  started.push(child.pid!)
  return child
}

/** A command that prints its own id, and those of the other children of the script. */
const printIds = `
  const { readFileSync } = require('node:fs')
  const pids = readFileSync('/proc/' + process.ppid + '/task/' + process.ppid + '/children', 'utf8').trim().split(' ').map(Number)
  console.log(JSON.stringify([process.pid, ...pids.filter((pid) => pid !== process.pid)]))`

async function printedIds(child: ChildProcess): Promise<{ computing: number[] }> {
  const [line] = (await once(createInterface(child.stdout!), 'line')) as [string]
  const [command, ...computing] = JSON.parse(line) as [number, ...number[]]
  started.push(command, ...computing)
  return { computing }
}

describe('processes that compute', () => {
  it('compute, and end when they are to', async () => {
    const load = await Load.start(2)
    started.push(...load.pids)
    expect(load.pids.map(lives)).toEqual([true, true])
    await load.end()
    expect(load.pids.map(lives)).toEqual([false, false])
  })

  it('are bound to cores', () => {
    expect(onCores([0, 3], ['node', 'x.js'])).toEqual(['taskset', '-c', '0,3', 'node', 'x.js'])
    expect(onCores(null, ['node', 'x.js'])).toEqual(['node', 'x.js'])
  })
})

describe.skipIf(!linux)('a command beside them', () => {
  it('gives its exit code, and leaves none of them behind', async () => {
    const child = beside(2, [process.execPath, '-e', `${printIds}; process.exitCode = 7`])
    const { computing } = await printedIds(child)
    expect(computing).toHaveLength(2)
    expect(await once(child, 'exit')).toEqual([7, null])
    expect(computing.map(lives)).toEqual([false, false])
  })

  it('takes them along when it is killed', async () => {
    const child = beside(2, [process.execPath, '-e', `${printIds}; setInterval(() => {}, 1000)`])
    const { computing } = await printedIds(child)
    expect(computing.map(lives)).toEqual([true, true])
    child.kill('SIGKILL')
    await expect.poll(() => computing.filter(lives)).toEqual([])
  })
})
