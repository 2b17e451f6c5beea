/** udpong between two processes, over rsockets and over UDP of the kernel; and with a peer that says other things. */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { afterEach, describe, expect, it } from 'vitest'
import { emitUdpong, Op, parseUdpong } from '../../../src/tools/udpong/message.ts'
import type { UdpongResult } from '../../../src/tools/udpong/run.ts'
import { canShare, freePort } from '../../cli/ends.ts'
import { outcome } from '../../cli/run.ts'
import { loopbackAddress } from '../../loopback.ts'
import { killLeftovers, places, start } from '../cm-kit/ends.ts'
import { overKernel, twoProcesses } from './two-processes.ts'

afterEach(killLeftovers)

describe.each(places.slice(0, 1))('two processes on $name', twoProcesses)

describe.skipIf(!canShare)('as the help shows it', () => {
  it('a client that binds nothing reaches a server on an address of loopback', async () => {
    const address = loopbackAddress(7)
    const server = start(['udpong', '--device', 'roce', '-b', address, '--json'])
    const served = outcome(server)
    const client = ['udpong', '--device', 'roce', '-s', address, '-C', '200', '-T', 'e', '--json']
    const { code, stdout, stderr } = await outcome(start(client))
    expect([stderr, code]).toEqual(['', 0])
    expect((JSON.parse(stdout) as UdpongResult).rows[0]).toMatchObject({ transfers: 400 })
    server.kill('SIGINT')
    expect((await served).code).toBe(130)
  })
})

describe.skipIf(!canShare)('UDP of the kernel', () => {
  overKernel([])

  it('the server takes anything, counts for each client, and answers what there is to answer', async () => {
    const port = Number(await freePort())
    const server = start(['udpong', '-T', 's', '-p', String(port), '-b', '127.0.0.1'])
    const served = outcome(server)
    const socket = createSocket('udp4').bind(0, '127.0.0.1')
    await once(socket, 'listening')
    const send = (op: number, id: number, length: number): void => {
      const bytes = new Uint8Array(length)
      emitUdpong({ op, id, seqno: 9, data: 0xffffffff }, bytes)
      socket.send(bytes, port, '127.0.0.1')
    }
    const answered = async (op: number, id: number, length: number): Promise<ReturnType<typeof parseUdpong>> => {
      const again = setInterval(() => send(op, id, length), 200)
      send(op, id, length)
      try {
        for (;;) {
          // What was sent again is answered again.
          const [bytes] = (await once(socket, 'message')) as [Buffer]
          if (bytes[0] === op && bytes.length === length) return parseUdpong(bytes, length)
        }
      } finally {
        clearInterval(again)
      }
    }
    expect(await answered(Op.Login, 77, 16)).toMatchObject({ op: Op.Login, seqno: 9 })
    expect(await answered(Op.Start, 200, 16)).toMatchObject({ op: Op.Start, id: 200 })
    socket.send(new Uint8Array(0), port, '127.0.0.1')
    socket.send(Uint8Array.of(1, 2, 3), port, '127.0.0.1')
    for (let i = 0; i < 5; i++) send(Op.Data, 200, 16)
    send(250, 200, 2000)
    send(Op.Data, 201, 16)
    expect(await answered(Op.Echo, 200, 1500)).toMatchObject({ op: Op.Echo, id: 200 })
    const end = await answered(Op.End, 200, 16)
    expect(end).toMatchObject({ op: Op.End, id: 200 })
    expect(end!.data).toBeGreaterThanOrEqual(7)
    socket.close()
    server.kill('SIGINT')
    expect((await served).code).toBe(130)
  })
})
