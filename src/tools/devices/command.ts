/** `verbena devices`: the output of ibv_devices, and the kind of each adapter; `--counters` adds their counters. */
import type { Command } from 'commander'
import { note, print, printJson, table } from '../../cli/terminal/index.ts'
import { getDeviceList, openDevice, type PublishedCounters, publishedCounters } from '../../index.ts'
import { hexGuid } from '../kit/index.ts'

const examples = `
Examples:
  verbena devices                      names, node GUIDs, kinds
  verbena devices --counters           and their counters that are not zero: shm:NAME, and the roce
                                       devices of every running process of yours, at most a second old
  verbena devices --counters --json    all of it as one JSON document`

interface Options {
  counters?: boolean
  json?: boolean
}

export function configure(command: Command): void {
  command
    .description('List the adapters of this host. shm0 and shm1 are always there; shm:NAME is one between processes.')
    .option('--counters', 'messages, errors and drops of each adapter, also of adapters in other processes')
    .option('--json', 'print one JSON document')
    .addHelpText('after', examples)
    .action((options: Options) => {
      const devices = getDeviceList().map(({ name, kind, guid }) => ({
        name,
        kind,
        guid: hexGuid(guid),
        ...(options.counters && name.startsWith('shm:') ? { counters: countersOf(name) } : {}),
      }))
      const processes = options.counters ? publishedCounters() : []
      if (options.json) printJson(options.counters ? { devices, processes } : { devices })
      else {
        print(
          table(
            ['device', 'node GUID', 'kind'],
            devices.map(({ name, kind, guid }) => [name, guid.replaceAll(':', ''), kind]),
          ),
        )
        for (const { name, counters } of devices) if (counters) print(countersText(name, counters))
        for (const told of processes) print(processText(told))
        if (options.counters && processes.length === 0) print('\nNo other process of yours has a roce device open.')
      }
    })
}

function processText({ pid, command, updatedMs, devices }: PublishedCounters): string {
  const age = Math.max(0, (Date.now() - updatedMs) / 1000).toFixed(1)
  const head = `\nprocess ${pid}, ${command}: last change told ${age} s ago`
  return [head, ...devices.map(({ name, counters }) => countersText(name, counters).slice(1))].join('\n')
}

/** Returns the counters; null where the adapter cannot be opened any more. */
function countersOf(name: string): Record<string, number> | null {
  try {
    const context = openDevice(name)
    try {
      return context.counters()
    } finally {
      context.close()
    }
  } catch (error) {
    note(`${name} cannot be opened: ${(error as Error).message}`)
    return null
  }
}

function countersText(name: string, counters: Record<string, number>): string {
  const counted = Object.entries(counters).filter(([, value]) => value !== 0)
  const lines = counted.map(([key, value]) => `    ${`${key}:`.padEnd(32)}${value}`)
  return [`\n${name}`, ...(lines.length > 0 ? lines : ['    nothing counted yet'])].join('\n')
}
