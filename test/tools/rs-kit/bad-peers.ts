/** Programs on rsockets whose peer says other things. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, expect, it } from 'vitest'
import '../../../src/index.ts'
import { AF_INET, F_SETFL, O_NONBLOCK, type RSocket, rsocket, SOCK_STREAM } from '../../../src/rsocket/index.ts'
import { emitHeader, openMessage, parseHeader, writeMessage } from '../../../src/tools/rcopy/message.ts'
import { outcome } from '../../cli/run.ts'
import { killLeftovers, type Place, says, start } from '../cm-kit/ends.ts'

async function connected(device: string, address: string, port: number): Promise<RSocket> {
  for (;;) {
    const socket = rsocket(AF_INET, SOCK_STREAM, 0, { device })
    socket.fcntl(F_SETFL, O_NONBLOCK)
    try {
      await socket.connectAsync({ address, port })
      return socket
    } catch (error) {
      socket.close()
      if ((error as { code: string }).code !== 'ECONNREFUSED') throw error
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
}

/** What comes before the other end hangs up, at most `most` bytes. */
async function heard(socket: RSocket, most: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(most)
  let at = 0
  while (at < most) {
    const n = await socket.recvAsync(bytes.subarray(at)).catch(() => 0)
    if (n === 0) break
    at += n
  }
  return bytes.subarray(0, at)
}

const header = (command: number, length: number): Uint8Array => {
  const bytes = new Uint8Array(16)
  emitHeader({ command, length, data: 0, id: 77n }, bytes)
  return bytes
}

export function badPeers(place: Place): void {
  const directory = mkdtempSync(join(tmpdir(), 'verbena-bad-peers-'))
  afterAll(() => rmSync(directory, { recursive: true }))
  afterEach(killLeftovers)

  it('the server of rcopy refuses what makes no sense, and serves the next', async () => {
    const devices = place.devices()
    const server = start(['rcopy', '--dir', directory, '--device', devices.server, '--timeout', '20'])
    const served = outcome(server)
    const servedAll = says(server, /(waiting for connection[\s\S]*){9}/)
    const ask = async (...messages: Uint8Array[]): Promise<Uint8Array> => {
      const socket = await connected(devices.client, place.address, 7427)
      for (const message of messages) await socket.sendAsync(message)
      const answer = await heard(socket, 16)
      socket.close()
      return answer
    }
    const status = (answer: Uint8Array): unknown => {
      const parsed = parseHeader(answer)
      return typeof parsed === 'string' ? parsed : [parsed.command, parsed.data, parsed.id]
    }
    // Another version, a length that no message has: no answer.
    expect((await ask(new Uint8Array(16).fill(0x5a))).length).toBe(0)
    expect((await ask(header(1, 15))).length).toBe(0)
    const [EINVAL, EACCES] = [22, 13]
    expect(status(await ask(header(99, 16)))).toEqual([99 | 0x80, EINVAL, 77n])
    expect(status(await ask(header(1, 16)))).toEqual([0x81, EINVAL, 77n])
    expect(status(await ask(header(1, 60_000)))).toEqual([0x81, EINVAL, 77n])
    expect(status(await ask(writeMessage(10)))).toEqual([0x83, EINVAL, 0n])
    expect(status(await ask(openMessage('../elsewhere', 0o644)))).toEqual([0x81, EACCES, 0n])
    expect(status(await ask(openMessage('here', 0o644)))).toEqual([0x81, 0, 0n])
    // For the first of them, and after each.
    await servedAll
    server.kill('SIGINT')
    const { code, stderr, stdout } = await served
    expect(stderr).toMatch(/rcopy: invalid version 90 or length 23130: is the client another program\?/)
    expect(stdout.match(/waiting for connection\.\.\./g)!.length).toBe(9)
    expect(code).toBe(130)
  })

  it('rstream finds a wrong byte, and a peer that hangs up', async () => {
    const devices = place.devices()
    const args = ['rstream', '-b', place.address, '-S', '100', '-C', '2', '-T', 'v', '--device', devices.server]
    const server = start(args)
    const served = outcome(server)
    await says(server, /usec/)
    const socket = await connected(devices.client, place.address, 7471)
    await socket.sendAsync(Uint8Array.from({ length: 116 }, (_, i) => (i === 50 ? 0 : i)))
    const { code, stderr } = await served
    expect(stderr).toMatch(/data verification failed byte 50/)
    expect(code).toBe(1)
    socket.close()
    const again = start(args)
    const ended = outcome(again)
    await says(again, /usec/)
    const short = await connected(devices.client, place.address, 7471)
    await short.sendAsync(Uint8Array.from({ length: 20 }, (_, i) => i))
    expect((await heard(short, 16)).length).toBe(16)
    short.close()
    const { code: second, stderr: why } = await ended
    expect(why).toMatch(/verbena: recv: the peer closed the connection/)
    expect(second).toBe(1)
  })
}
