/** Records of runs that never were: requests of the schedule, with times that a seed determines. */
import {
  RandomStream,
  Schedule,
  serverText,
  sharedConfiguration,
  type TrafficConfig,
  type TrafficRecord,
} from '../../src/traffic/index.ts'
import { DrawnValues } from '../../src/traffic/run/drawn.ts'
import { Series } from '../../src/traffic/run/series.ts'
import { Tally } from '../../src/traffic/run/tally.ts'

/** Of requests as the schedule has them, each complete after a time that a seed determines. */
export function recordOf(of: TrafficConfig, ...into: Parts[]): TrafficRecord {
  const own = new Parts(of)
  const random = new RandomStream(of.seed, `times of ${of.client}`)
  const schedule = new Schedule(of)
  while (schedule.next()) for (const parts of [own, ...into]) parts.due(schedule)
  const again = new Schedule(of)
  while (again.next()) {
    const [ns, fate] = [Math.round(5000 * random.exponential() + again.size), random.unit()]
    for (const parts of [own, ...into]) parts.over(again, ns, fate)
  }
  return own.record(of)
}

export class Parts {
  readonly tally: Tally
  readonly series = new Series()
  readonly drawn: DrawnValues
  requests = 0
  bytes = 0
  lastNs = 0

  constructor(of: TrafficConfig) {
    this.tally = new Tally(of.servers.length, of.bandwidthBps)
    this.tally.bases.fill(1000)
    this.drawn = new DrawnValues(of)
  }

  due({ phase, group, verbIndex, size, timeNs }: Schedule): void {
    this.requests++
    this.bytes += size
    this.lastNs = Math.max(this.lastNs, timeNs)
    this.series.isDue(timeNs, size)
    this.drawn.add(phase, group, verbIndex, size, timeNs)
  }

  over({ server, typeIndex, verbIndex, size, timeNs }: Schedule, ns: number, fate: number): void {
    if (fate < 0.01) this.tally.lose(server, typeIndex, verbIndex, size)
    else if (fate < 0.02) this.tally.fail(server, typeIndex, verbIndex, size)
    else {
      this.tally.complete(server, typeIndex, verbIndex, size, ns)
      this.series.isDone(timeNs + ns, size)
    }
  }

  record(of: TrafficConfig): TrafficRecord {
    return {
      ...{ configuration: sharedConfiguration(of), clients: [of.client], requests: this.requests, bytes: this.bytes },
      ...{
        askedNs: this.lastNs,
        doneNs: this.lastNs,
        latestNs: 0,
        cells: this.tally.toPlain(of.servers.map(serverText)),
      },
      ...{ ...this.drawn.toPlain(), series: this.series.toPlain(), failures: {}, unreachable: {} },
    }
  }
}
