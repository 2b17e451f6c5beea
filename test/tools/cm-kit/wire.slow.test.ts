/** What goes over the wire, beside captures of librdmacm's programs. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { fillPing } from '../../../src/tools/rping/message.ts'
import { outcome, start, startProcess, verbena } from '../../cli/run.ts'
import { loopbackAddress, loopbackDevice } from '../../loopback.ts'
import { packetsOf, placesOf } from '../../wire/captures.ts'

interface Row {
  source: string
  service: string
  operation: string
  payload: number
  solicited: boolean
  cm?: Record<string, unknown>
}

/** Identities, keys, and times that depend on the run. */
const ownEach = /(Id|Guid|Qpn|Psn|Gid|Timeout|flowLabel|privateData)$/i

function comparable(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => !ownEach.test(key))
      .map(([key, inner]) => [key, comparable(inner)]),
  )
}

/**
 * All packets but acknowledgements, whose number is the receiver's choice, and what is sent again, as happens where an end
 * has to wait for a core: packets of a connection, and messages of the CM, which are new packets each time.
 */
async function talkIn(file: string, client: string): Promise<unknown[]> {
  const { stdout } = await verbena('trace', 'show', file, '--json', '-f', 'not (retransmission or repeat)')
  const rows = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Row)
  const messages = new Set<string>()
  const isNew = ({ source, cm }: Row): boolean => {
    if (cm === undefined) return true
    const message = `${source} ${String(cm.type)} ${String(cm.transactionId)}`
    if (messages.has(message)) return false
    messages.add(message)
    return true
  }
  return rows
    .filter((row) => row.operation !== 'ACK' && isNew(row))
    .map(({ source, service, operation, payload, solicited, cm }) => ({
      from: source === client ? 'client' : 'server',
      ...{ service, operation, payload, solicited },
      cm: comparable(cm),
    }))
}

describe('the same messages as those of librdmacm', { timeout: 120_000 }, () => {
  it.each([
    ['rping', ['rping', '-s', '-S', '100'], ['rping', '-c', '-C', '5', '-S', '100', '-a']],
    ['ucmatose', ['ucmatose', '-C', '5', '-S', '200'], ['ucmatose', '-C', '5', '-S', '200', '-s']],
    ['udaddy', ['udaddy', '-C', '5', '-S', '200'], ['udaddy', '-C', '5', '-S', '200', '-s']],
  ])('%s', async (name, serverArgs, clientArgs) => {
    const directory = mkdtempSync(join(tmpdir(), 'verbena-wire-'))
    try {
      const file = join(directory, 'tap.pcap')
      const env = { ...process.env, VERBENA_TAP: file }
      const server = outcome(startProcess([...serverArgs, '--device', loopbackDevice(1)], { env }))
      const more = [loopbackAddress(1), '--device', loopbackDevice(2), '--wait', '60']
      const client = await outcome(start([...clientArgs, ...more]))
      expect([client.code, (await server).code]).toEqual([0, 0])
      const theirs = await talkIn(join(import.meta.dirname, '..', '..', 'captures', `${name}.pcap`), '10.77.0.3')
      expect(theirs.length).toBeGreaterThan(10)
      expect(await talkIn(file, loopbackAddress(2))).toEqual(theirs)
    } finally {
      rmSync(directory, { recursive: true })
    }
  })

  it('a ping of rping has the bytes of the captured ones', () => {
    const readResponseOnly = 0x10
    const captured = packetsOf('rping.pcap').flatMap(({ frame }) => {
      const { bth, icrc } = placesOf(frame)
      // Behind BTH and AETH.
      return frame[bth] === readResponseOnly ? [frame.subarray(bth + 16, icrc)] : []
    })
    expect(captured.length).toBe(5)
    for (const [i, bytes] of captured.entries()) {
      const ours = new Uint8Array(100)
      fillPing(ours, i)
      expect(Buffer.from(ours).toString()).toBe(Buffer.from(bytes).toString())
    }
  })
})
