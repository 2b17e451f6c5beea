/**
 * The programs of this folder know nothing of RDMA. Each has a server and a client:
 *
 *     node http.cjs                both in one process
 *     node http.cjs serve [HOST]   prints the port, runs until its input ends
 *     node http.cjs use PORT [HOST]
 *
 * What the client prints is the same however the bytes travel.
 */
export async function main(serve, use) {
  const [role, ...rest] = process.argv.slice(2)
  if (role === 'use') return use(Number(rest[0]), rest[1] ?? '127.0.0.1')
  const host = role === 'serve' ? (rest[0] ?? '127.0.0.1') : '127.0.0.1'
  const server = await serve(host)
  const { port } = server.address()
  if (role === 'serve') {
    console.log(`port ${port}`)
    process.stdin.resume().on('end', () => server.close(() => console.log('closed')))
    return
  }
  await use(port, host)
  server.close(() => console.log('closed'))
}

export const show = (...values) => console.log(...values)

/** Bytes that can be told from each other, the same in every process. */
export function pattern(length) {
  const bytes = Buffer.alloc(length)
  for (let i = 0, x = 1; i < length; i++) {
    x = (Math.imul(x, 1_103_515_245) + 12_345) >>> 0
    bytes[i] = x >>> 16
  }
  return bytes
}
