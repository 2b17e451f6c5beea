/**
 * One process of a fleet: rank.process.ts DEVICE HOST ID PORT SEED PACE-MS. It talks with all whom it is told of, in every way that there
 * is, once in so many milliseconds with each, validates what comes, and says what is wrong.
 */
import { type CompletionQueue, openDevice, workCompletions } from '../../src/index.ts'
import { seededBelow } from '../random.ts'
import { Datagrams } from './datagrams.ts'
import { Link } from './link.ts'
import type { Command, Message, Offer, Tally } from './messages.ts'
import { Streams } from './streams.ts'

const [device, host, ...numbers] = process.argv.slice(2) as [string, string, ...string[]]
const [self, port, seed, paceMs] = numbers.map(Number) as [number, number, number, number]
const random = seededBelow(seed)

const say = (message: Message): void => {
  process.send!(message)
}

const context = openDevice(device)
const pd = context.allocPd()
const channel = context.createCompChannel()
const cq = context.createCq(4096, { channel })
const datagrams = new Datagrams(context, pd, cq, self)
const streams = new Streams(self, device, host)
const links = new Map<number, Link>()
const byNumber = new Map<number, { take(wc: (typeof wcs)[number]): void }>([[datagrams.qp.qpNum, datagrams]])
const wcs = workCompletions(64)
/** Peers that this process sends to. */
const active = new Set<number>()
let ends = false

function takeAll(from: CompletionQueue): void {
  for (let n = from.poll(wcs); n !== 0; n = from.poll(wcs)) {
    if (n < 0) throw new Error('the CQ overran')
    for (let i = 0; i < n; i++) byNumber.get(wcs[i]!.qpNum)?.take(wcs[i]!)
  }
}

async function serve(): Promise<void> {
  cq.reqNotify()
  while (!ends) {
    takeAll(cq)
    if ((await channel.nextEvent()) === null) continue
    cq.ackEvents(1)
    cq.reqNotify()
  }
}

function turn(): void {
  for (const peer of active) {
    const what = random(8)
    if (what === 0) datagrams.step(peer)
    else if (what < 3) streams.step(peer, random)
    else links.get(peer)!.step(random)
  }
}

function troubleWith(peer: number): (trouble: string) => void {
  return (trouble) => say({ trouble, peer })
}

function offer(peer: number): Offer {
  const link = new Link(context, pd, cq, { self, peer }, troubleWith(peer))
  links.set(peer, link)
  byNumber.set(link.qp.qpNum, link)
  return { id: self, port, ud: datagrams.endpoint, ...link.offer }
}

async function connect({ id, ...rest }: Offer, dials: boolean): Promise<void> {
  const link = links.get(id)!
  link.connect({ id, ...rest })
  datagrams.add(id, rest.ud, link.tally, troubleWith(id))
  await streams.add(id, link.tally, troubleWith(id), dials ? rest.port : null)
}

function forget(peer: number): void {
  active.delete(peer)
  const link = links.get(peer)
  if (link === undefined) return
  datagrams.remove(peer)
  streams.remove(peer)
  links.delete(peer)
  byNumber.delete(link.qp.qpNum)
  link.close()
}

async function stop(): Promise<void> {
  clearInterval(timer)
  while ([...links.values()].some(({ outstanding }) => outstanding > 0))
    await new Promise((resolve) => setTimeout(resolve, 5))
}

async function end(): Promise<void> {
  await streams.close()
  for (const peer of [...links.keys()]) forget(peer)
  ends = true
  channel.wake()
  await served
  datagrams.close()
  cq.close()
  channel.close()
  pd.close()
  context.close()
}

async function perform(command: Command): Promise<unknown> {
  switch (command.do) {
    case 'offer':
      return offer(command.peer)
    case 'connect':
      return await connect(command.offer, command.dials)
    case 'talk':
      // Unless it has been killed meanwhile.
      if (links.has(command.peer)) active.add(command.peer)
      return null
    case 'forget':
      return forget(command.peer)
    case 'rush':
      setInterval(() => {
        for (const peer of active) links.get(peer)!.rush()
      }, 1)
      return null
    case 'stop':
      return await stop()
    case 'tell':
      return Object.fromEntries([...links].map(([peer, { tally }]): [number, Tally] => [peer, tally]))
    case 'end':
      return await end()
  }
}

process.on('message', ({ serial, command }: { serial: number; command: Command }) => {
  perform(command).then(
    (answer) => say({ serial, answer: answer ?? null }),
    (error: Error) => say({ serial, failed: error.stack ?? error.message }),
  )
})
process.on('disconnect', () => process.exit())

const served = serve()
const timer = setInterval(turn, paceMs)
await streams.listen(port, 10_000)
say({ serial: -1, answer: 'ready' })
