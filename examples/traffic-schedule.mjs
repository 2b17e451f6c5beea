/**
 * What a configuration of traffic asks of its servers, without sending anything: requests, bytes and rate of each, and how near the sizes
 * that were drawn are to their distribution.
 *
 *     node examples/traffic-schedule.mjs [CONFIG]
 */
import { fileURLToPath } from 'node:url'
import { Cdf, rateText, Schedule, serverText, sizeText } from 'verbena/traffic'
import { loadTraffic } from 'verbena/traffic/load'

const file = process.argv[2] ?? fileURLToPath(new URL('traffic/web.yaml', import.meta.url))
const config = loadTraffic(file, { duration: 60 })
const schedule = new Schedule(config)
const servers = config.servers.map(() => ({ requests: 0, bytes: 0 }))
const sizes = []

// `next` goes on to the next request, which the schedule itself then is.
while (schedule.next()) {
  servers[schedule.server].requests++
  servers[schedule.server].bytes += schedule.size
  sizes.push(schedule.size)
}

const seconds = schedule.timeNs / 1e9
for (const [i, { requests, bytes }] of servers.entries())
  console.log(
    `${serverText(config.servers[i])}  ${requests} requests  ${sizeText(bytes)}  ${rateText((8 * bytes) / seconds)}`,
  )

const [{ value }] = config.phases[0].sizes
if (value instanceof Cdf) {
  const share = sizes.filter((size) => size <= value.quantile(0.5)).length / sizes.length
  console.log(
    `${value.name}: mean ${sizeText(value.mean)}; ${(100 * share).toFixed(1)} % of the flows are at most its median`,
  )
}
