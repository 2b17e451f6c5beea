/** process_vm_readv and process_vm_writev as the memory layer has them. */
import { rmSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { errnos, nativeAvailable, nativeReason, ProcessVm, Segment } from '../../src/memory/index.ts'
import { segmentFile } from '../../src/memory/segment-files.ts'
import { endMemoryProcesses, MemoryProcess } from './memory-process.ts'

describe.skipIf(nativeAvailable)(`memory of other processes: ${nativeReason}`, () => {
  it.skip('needs the native layer', () => {})
})

describe.skipIf(!nativeAvailable)('memory of other processes', () => {
  const page = 4096
  const name = `process-vm-${process.pid}`
  let other: MemoryProcess
  beforeAll(async () => {
    other = await MemoryProcess.start(4 * page)
  })
  afterAll(async () => {
    await endMemoryProcesses()
    rmSync(`/dev/shm/${segmentFile(name)}`, { force: true })
  })

  const options = { staticBytes: page, sizeBytes: 32 << 20 }
  it.each([
    { what: 'shared memory of V8', make: () => new SharedArrayBuffer(2 * page), at: 0 },
    { what: 'memory of V8', make: () => new ArrayBuffer(2 * page), at: 0 },
    { what: 'a named segment', make: () => Segment.named(name, options), at: -1 },
    { what: 'the segment of the process', make: () => Segment.ofProcess(options), at: -1 },
  ])('lists are copied there and back from $what', ({ make, at }) => {
    const made = make()
    const buffer = made instanceof Segment ? made.buffer : made
    const start = made instanceof Segment && at < 0 ? made.allocate(2 * page) : at
    const u8 = new Uint8Array(buffer, start, 2 * page)
    const vm = new ProcessVm(buffer)
    u8.set([1, 2, 3, 4, 5, 6, 7, 8], 100)
    vm.clear()
    vm.addHere(start + 100, 3)
    vm.addHere(start + 103, 5)
    vm.addThere(other.address + page - 2, 6)
    vm.addThere(other.address + 17, 2)
    expect(vm.write(other.pid)).toBe(0)
    expect([...other.peek(page - 2, 6)]).toEqual([1, 2, 3, 4, 5, 6])
    expect([...other.peek(17, 2)]).toEqual([7, 8])
    other.poke(0, Uint8Array.of(9, 8, 7))
    vm.clear()
    vm.addHere(start + 200, 1)
    vm.addHere(start + 300, 2)
    vm.addThere(other.address, 3)
    expect(vm.read(other.pid)).toBe(0)
    expect([u8[200], u8[300], u8[301], u8[302]]).toEqual([9, 8, 7, 0])
  })

  it('what is not mapped is EFAULT, also in part; no process is ESRCH', async () => {
    const buffer = new SharedArrayBuffer(2 * page)
    const vm = new ProcessVm(buffer)
    const errno = (how: 'read' | 'write', pid: number, address: number, length: number): number => {
      vm.clear()
      vm.addHere(0, length)
      vm.addThere(address, length)
      return vm[how](pid)
    }
    await other.unmap(2 * page, page)
    for (const how of ['read', 'write'] as const) {
      expect(errno(how, other.pid, other.address + 2 * page, 8)).toBe(errnos.EFAULT)
      expect(errno(how, other.pid, other.address + 2 * page - 8, 16)).toBe(errnos.EFAULT)
      expect(errno(how, other.pid, 0, 1)).toBe(errnos.EFAULT)
      expect(errno(how, other.pid, other.address + 2 * page - 8, 8)).toBe(0)
      expect(errno(how, 0x3ffffff, other.address, 8)).toBe(errnos.ESRCH)
    }
  })

  it('what may not be written is EFAULT', async () => {
    const vm = new ProcessVm(new SharedArrayBuffer(page))
    await other.protect(0, page)
    const errno = (how: 'read' | 'write'): number => {
      vm.clear()
      vm.addHere(0, 8)
      vm.addThere(other.address, 8)
      return vm[how](other.pid)
    }
    expect([errno('read'), errno('write')]).toEqual([0, errnos.EFAULT])
  })
})
