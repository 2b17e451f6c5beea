/** Saved results of traffic, from records that a seed determines. */
import { join } from 'node:path'
import { saveResults, saveTrafficRecord } from '../../src/report/index.ts'
import { setOf, settingsOf } from '../../src/tools/traffic/results.ts'
import type { TrafficRecord } from '../../src/traffic/index.ts'
import { readTraffic } from '../../src/traffic/load/index.ts'
import { recordOf } from '../traffic/records.ts'
import { HEAD } from './synthetic.ts'

const WEB = `servers: [10.0.0.2, 10.0.0.3]
size: WebSearch
verbs: { send: 40, write: { weight: 40, size: { 64: 50, 4KiB: 50 } }, read: 20 }
types: { RC: 90, UC: 10 }
requests: 1k/s
count: 3000
`

export function trafficRun(
  parent: string,
  name = 'traffic',
  yaml = WEB,
  change: (record: TrafficRecord) => TrafficRecord = (record) => record,
): string {
  const dir = join(parent, name)
  const config = readTraffic(yaml, 'web.yaml')
  const record = change(recordOf(config))
  const set = setOf(record, settingsOf(config, 'examples/web.yaml', 'roce:10.0.0.1'), {})
  saveResults(dir, { ...HEAD, tool: 'traffic', unit: 'ns', sets: [set] })
  saveTrafficRecord(dir, set.id, record)
  return dir
}
