/**
 * UD: private data in the request of an active node, so that the passive one can send, too. A reply names the queue pair of its sender; a
 * request names none. Four bytes mark them: "vUDq"; the number of the queue pair follows.
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

/** Returns the number of the queue pair that has sent the request; undefined if the private data do not have it. */
export function qpOfUdRequest(bytes: Uint8Array): number | undefined {
  if (bytes.length < length) return undefined
  const view = new DataView(bytes.buffer, bytes.byteOffset, length)
  return view.getUint32(0) === mark ? view.getUint32(4) : undefined
}
