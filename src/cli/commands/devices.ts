/** `verbena devices`: what ibv_devices shows, and of which kind each adapter is; `--counters` adds theirs. */
import type { Command } from 'commander'
import { getDeviceList, openDevice } from '../../index.ts'
import { hexGuid } from '../hex.ts'
import { note, print, table } from '../output.ts'

const examples = `
Examples:
  verbena devices                      names, node GUIDs, kinds
  verbena devices --counters           and what each has counted since it was made, without the zeros
  verbena devices --counters --json    all of it as one JSON document`

interface Options {
  counters?: boolean
  json?: boolean
}

export function configure(command: Command): void {
  command
    .description('List the adapters of this host. shm0 and shm1 are always there; shm:NAME is one between processes.')
    .option('--counters', 'messages, errors and drops of each adapter')
    .option('--json', 'print one JSON document')
    .addHelpText('after', examples)
    .action((options: Options) => {
      const devices = getDeviceList().map(({ name, kind, guid }) => ({
        name,
        kind,
        guid: hexGuid(guid),
        ...(options.counters ? { counters: countersOf(name) } : {}),
      }))
      if (options.json) process.stdout.write(`${JSON.stringify({ devices })}\n`)
      else {
        print(
          table(
            ['device', 'node GUID', 'kind'],
            devices.map(({ name, kind, guid }) => [name, guid.replaceAll(':', ''), kind]),
          ),
        )
        for (const { name, counters } of devices) if (counters) print(countersText(name, counters))
      }
    })
}

/** Null where the adapter cannot be opened any more. */
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
