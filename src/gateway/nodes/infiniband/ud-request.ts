/**
 * UD: what an active node tells in the private data of its request, so that the passive one can send, too. A reply names the queue
 * pair of who replies; a request names none. Four bytes say that it is there: "vUDq", and then the number of the queue pair.
 */
const mark = 0x76554471
const length = 8

export function udRequest(qpNum: number): Uint8Array {
  const bytes = new Uint8Array(length)
  const view = new DataView(bytes.buffer)
  view.setUint32(0, mark)
  view.setUint32(4, qpNum)
  return bytes
}

/** The number of the queue pair that has sent the request; undefined: it does not say. */
export function qpOfUdRequest(bytes: Uint8Array): number | undefined {
  if (bytes.length < length) return undefined
  const view = new DataView(bytes.buffer, bytes.byteOffset, length)
  return view.getUint32(0) === mark ? view.getUint32(4) : undefined
}
