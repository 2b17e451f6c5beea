/** The data thread of a server for one client. The main thread calls it: `open`, `connect`, `run`, `close`. */
import { threadData } from '../../memory/index.ts'
import {
  Control,
  controlSlots,
  type Link,
  type LinkEnd,
  type LinkPlan,
  qpsOf,
  receivesOf,
  type ServerCounts,
  ServerLoop,
} from '../../traffic/run/index.ts'
import { pinApart, serve, UsageError } from '../kit/index.ts'
import { End, type EndOptions } from './end.ts'
import type { Address, CmAddresses } from './protocol.ts'

export interface ServerOpen {
  end: EndOptions
  plan: LinkPlan
  client: Address
  sameHost: boolean
  rdmaCm: boolean
}

export interface ServerOpened {
  address: Address
  mtu: number
  end: LinkEnd
  cm: CmAddresses
}

export interface ServerResult {
  counts: ServerCounts
  error: string
}

const control = new Control(0, threadData<{ control: SharedArrayBuffer }>().control)
let end: End
let link: Link
let client: Address
let polite = false
let rdmaCm = false

function open(asked: ServerOpen): ServerOpened {
  polite = asked.sameHost && !pinApart('server')
  client = asked.client
  rdmaCm = asked.rdmaCm
  end = new End(asked.end)
  const { address } = end
  const most = Math.min(address.activeMtu, client.activeMtu)
  const mtu = asked.plan.mtu === 0 ? most : asked.plan.mtu
  if (mtu > most) throw new UsageError('mtu', `${mtu} is more than the active MTU of both ports: at most ${most}`)
  const plan = { ...asked.plan, mtu }
  const qps = qpsOf(plan)
  const channels = qps - 1
  const receives = plan.flow === 'push' ? channels * receivesOf(plan) : channels
  end.prepare(qps, channels * plan.depth + controlSlots, receives + controlSlots)
  link = end.link(plan, 'server', 0)
  return { address, mtu, end: link.end, cm: rdmaCm ? end.listen(link) : {} }
}

function connect(remote: LinkEnd): void {
  if (remote.channels.length !== link.channels.length)
    throw new UsageError('qps', `the client has ${remote.channels.length} channels, this end ${link.channels.length}`)
  if (rdmaCm) end.connectByCm(link, remote, null)
  else end.connect(link, client, remote)
}

function run(): ServerResult {
  const { sendCq, recvCq, stride } = end.host!
  const loop = new ServerLoop(link, sendCq, recvCq, stride, control, end.idle(polite))
  loop.run()
  return { counts: loop.counts, error: loop.error }
}

function close(): void {
  link?.close()
  end?.close()
}

serve({ open, connect, run, close })
