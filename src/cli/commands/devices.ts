/** `verbena devices` */
import type { Command } from 'commander'
import { getDeviceList } from '../../index.ts'
import { hexGuid } from '../hex.ts'
import { print, table } from '../output.ts'

export function configure(command: Command): void {
  command
    .description('List the adapters of this host. shm0 and shm1 are always there; shm:NAME is one between processes.')
    .option('--json', 'print one JSON document')
    .action((options: { json?: boolean }) => {
      const devices = getDeviceList().map(({ name, kind, guid }) => ({ name, kind, guid: hexGuid(guid) }))
      if (options.json) process.stdout.write(`${JSON.stringify({ devices })}\n`)
      else
        print(
          table(
            ['device', 'kind', 'node GUID'],
            devices.map(({ name, kind, guid }) => [name, kind, guid]),
          ),
        )
    })
}
