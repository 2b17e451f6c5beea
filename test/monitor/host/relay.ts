import { connect, createServer, type Socket } from 'node:net'

export interface Relay {
  url: string
  /** Where it leads now. */
  way: { to: { readonly url: string } | undefined }
  close(): void
}

/** An address of its own that leads to a collector, or to none: agents keep it while collectors come and go. */
export async function relay(): Promise<Relay> {
  const sockets = new Set<Socket>()
  const way: Relay['way'] = { to: undefined }
  const server = createServer((socket) => {
    if (way.to === undefined) return socket.destroy()
    const { hostname, port } = new URL(way.to.url)
    const on = connect(Number(port), hostname)
    for (const [one, other] of [
      [socket, on],
      [on, socket],
    ] as const) {
      sockets.add(one)
      one.on('error', () => other.destroy())
      one.on('close', () => other.destroy())
      one.pipe(other)
    }
  })
  await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done))
  const url = `http://127.0.0.1:${(server.address() as { port: number }).port}`
  const close = (): void => {
    for (const socket of sockets) socket.destroy()
    server.close()
  }
  return { url, way, close }
}
