/** What one client's handler puts into an AsyncLocalStorage is not seen in the callbacks of another. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { afterEach, describe, expect, test } from 'vitest'
import {
  AF_INET,
  F_SETFL,
  MSG_DONTWAIT,
  O_NONBLOCK,
  POLLIN,
  type RDatagram,
  type RSocket,
  rsocket,
  SOCK_DGRAM,
  SOCK_NONBLOCK,
  SOCK_STREAM,
  type SocketAddress,
  type Watch,
} from '../../../src/index.ts'

const als = new AsyncLocalStorage<string>()
const device = 'shm0'
const open: { closed: boolean; close(): number }[] = []
const watches: Watch[] = []

afterEach(() => {
  for (const stop of watches.splice(0)) stop()
  for (const socket of open.splice(0)) if (!socket.closed) socket.close()
})

function stream(): RSocket {
  const socket = rsocket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0, { device })
  open.push(socket)
  return socket
}

describe('AsyncLocalStorage', () => {
  test('callbacks of two connections whose handlers overlap each see their own store', async () => {
    const listener = stream()
    listener.bind({ address: '127.0.0.1', port: 0 })
    listener.listen()
    const addr = listener.getsockname() as SocketAddress
    // [whose callback it is, what it saw]
    const seen: [string, string | undefined][] = []
    let next = 0
    watches.push(
      listener.watch(POLLIN, () => {
        seen.push(['listener', als.getStore()])
        const socket = listener.accept() as RSocket
        open.push(socket)
        const id = `request ${next++}`
        als.run(id, () => {
          const into = new Uint8Array(1)
          watches.push(
            socket.watch(POLLIN, () => {
              seen.push([id, als.getStore()])
              if (socket.recv(into, MSG_DONTWAIT) === 1) socket.send(into)
            }),
          )
        })
      }),
    )
    const client = async (id: string): Promise<void> => {
      const socket = stream()
      await socket.connectAsync(addr)
      const byte = new Uint8Array(1)
      for (let i = 0; i < 20; i++) {
        await socket.sendAsync(byte)
        await socket.recvAsync(byte)
        seen.push([id, als.getStore()])
      }
    }
    await Promise.all(['client 0', 'client 1'].map((id) => als.run(id, () => client(id))))
    const names = new Set(seen.map(([name]) => name))
    expect(names).toEqual(new Set(['listener', 'client 0', 'client 1', 'request 0', 'request 1']))
    for (const [name, store] of seen) expect([name, store]).toEqual([name, name === 'listener' ? undefined : name])
  })

  test('the same with datagrams', async () => {
    const make = (): RDatagram => {
      const socket = rsocket(AF_INET, SOCK_DGRAM, 0, { device })
      socket.fcntl(F_SETFL, O_NONBLOCK)
      socket.bind({ address: '127.0.0.1', port: 0 })
      open.push(socket)
      return socket
    }
    const seen: [string, string | undefined][] = []
    const servers = ['a', 'b'].map((id) => {
      const socket = make()
      als.run(id, () =>
        watches.push(
          socket.watch(POLLIN, () => {
            const from = {} as SocketAddress
            const n = socket.recvfrom(new Uint8Array(10), MSG_DONTWAIT, from)
            if (n < 0) return
            seen.push([id, als.getStore()])
            socket.sendto(new Uint8Array(n), 0, from)
          }),
        ),
      )
      return socket.getsockname() as SocketAddress
    })
    await Promise.all(
      servers.map(async (addr) => {
        const socket = make()
        socket.connect(addr)
        for (let i = 0; i < 5; i++) {
          await socket.sendAsync(new Uint8Array(1))
          await socket.recvAsync(new Uint8Array(1))
        }
      }),
    )
    expect(seen.length).toBeGreaterThanOrEqual(10)
    for (const [name, store] of seen) expect(store).toBe(name)
  })
})
