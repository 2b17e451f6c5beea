/** `verbena replay messages` */
import type { Command } from 'commander'
import { currentRun, endWith, Lines, note } from '../../cli/terminal/index.ts'
import { type MessageGaps, readMessages, type TraceMessages } from '../../replay/index.ts'
import type { Damage } from '../../trace/index.ts'
import {
  captureFile,
  exitCodeOf,
  mustBeCapture,
  noteDamage,
  type ReadOptions,
  readingOf,
  readsCapture,
  stopOnInterrupt,
} from '../trace-kit/index.ts'

const help = `
The output has a line of JSON for each message, in the order in which they begin; times are nanoseconds after the first one:
  id, connection          number of the message; of its connection
  type                    RC, UC or UD
  from, to                address and queue pair of the requester, and of the responder; "qpn": null if it is not known
  op, bytes               send, send_with_imm, send_with_inv, write, write_with_imm, read, fetch_add, compare_swap, …
  time, end, done         its first packet, its last, and when it was acknowledged or responded to; null if that is not there
  after, wait, think      the message for which it waited: until that was "received" by its end, "completed", or only "sent";
                          and the time from that event to its beginning
Messages that could not be reconstructed are counted on standard error.

Examples:
  verbena replay messages rping.pcap
  verbena replay messages roce.pcap.gz > messages.jsonl`

export function configure(command: Command): void {
  readsCapture(command)
    .description('List the messages of a capture: operation, size, time, and the event for which each waited.')
    .addHelpText('after', help)
    .action(async (file: string, options: ReadOptions) => {
      const stop = stopOnInterrupt()
      const found = await readMessages(captureFile(file), readingOf(options, stop))
      stop.dispose()
      const damage = damageOf(found)
      mustBeCapture(file, damage)
      const lines = new Lines(currentRun().io.stdout)
      for (const message of found.messages) {
        const { id, connection, from, op, bytes, atNs, endNs, doneNs, after, wait, thinkNs } = message
        const { type, ends } = found.connections[connection]!
        const times = { time: atNs, end: endNs, done: doneNs }
        const line = {
          id,
          connection,
          type,
          from: ends[from],
          to: ends[1 - from],
          op,
          bytes,
          ...times,
          after,
          wait,
          think: thinkNs,
        }
        lines.add(JSON.stringify(line))
        if ((id & 1023) === 0) await lines.flush()
      }
      await lines.flush()
      noteGaps(found)
      noteDamage(damage)
      endWith(exitCodeOf(stop, damage.damageCount > 0 || found.messages.length === 0))
    })
}

export function damageOf({ parser }: TraceMessages): {
  format: string | undefined
  damage: readonly Damage[]
  damageCount: number
} {
  return { format: parser.format, damage: parser.damage.list, damageCount: parser.damage.count }
}

const texts: Record<keyof MessageGaps, string> = {
  damagedPackets: 'packets are damaged: their receiver drops them',
  incomplete: 'messages are not whole: their first or last packet is not there',
  otherServices: 'messages are of XRC or RD',
  management: 'datagrams are of the connection manager: connections are made anew',
  retransmissions: 'packets were sent again: each message counts once',
  rejected: 'requests were rejected by a NAK that ends a connection',
  withoutFlow: 'packets are of more flows than are followed',
  beyond: 'messages are more than are remembered',
}

/** Prints on stderr which messages could not be reconstructed. */
export function noteGaps({ gaps, connections, messages }: TraceMessages): void {
  const oneSided = connections.filter((one) => one.oneSided).length
  note(`${messages.length} messages on ${connections.length} connections`)
  for (const [name, text] of Object.entries(texts)) {
    const count = gaps[name as keyof MessageGaps]
    if (count > 0) note(`  ${count} ${text}`)
  }
  if (oneSided > 0)
    note(`  ${oneSided} connections have one direction only: when their messages were done is not known`)
}
