/** A process that has some memory, says where, and unmaps it when it is told. What is in it the test reads and writes by itself. */
import { requireLibc } from '../../src/memory/native/libc.ts'

type Order = { unmap: number; length: number } | { protect: number; length: number } | { map: number }

const { mmap, mprotect, munmap, koffi } = requireLibc('mmap')
const [readWrite, readOnly, privateAnonymous] = [3, 1, 0x22]

function map(lengthBytes: number): number {
  const address = mmap(0, lengthBytes, readWrite, privateAnonymous, -1, 0)
  if (address === -1) throw new Error(`no memory: errno ${koffi.errno()}`)
  return address
}

process.on('message', (order: Order) => {
  if ('map' in order) process.send!({ address: map(order.map) })
  else if ('unmap' in order) process.send!({ failed: munmap(order.unmap, order.length) })
  else process.send!({ failed: mprotect(order.protect, order.length, readOnly) })
})
process.on('disconnect', () => process.exit(0))
process.send!({ address: map(Number(process.argv[2])) })
