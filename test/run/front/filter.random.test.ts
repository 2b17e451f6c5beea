/** The filter of system calls, run by an interpreter of BPF on calls of all kinds, beside what it is to say, written plainly. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type BpfInstruction, processors } from '../../../src/memory/index.ts'
import { doorbellBytes, servedRequests } from '../../../src/run/door.ts'
import { Assembler, Verdict } from '../../../src/run/front/bpf.ts'
import { filterProgram } from '../../../src/run/front/filter.ts'
import { numberRanges } from '../../../src/run/front/numbers.ts'
import { holds } from '../../property.ts'

interface SystemCallData {
  readonly architecture: number
  readonly number: number
  readonly arguments: readonly bigint[]
}

/** What a program returns; it throws for what the kernel would not take. */
function run(program: readonly BpfInstruction[], call: SystemCallData): number {
  const data = new DataView(new ArrayBuffer(64))
  data.setInt32(0, call.number, true)
  data.setUint32(4, call.architecture, true)
  call.arguments.forEach((value, i) => {
    data.setBigUint64(16 + 8 * i, BigInt.asUintN(64, value), true)
  })
  let a = 0
  for (let at = 0; ; ) {
    const { code, jt, jf, k } = program[at++]!
    if (code === 0x20) a = data.getUint32(k, true)
    else if (code === 0x06) return k
    else if (code === 0x05) at += k
    else if (code === 0x15) at += a === k ? jt : jf
    else if (code === 0x35) at += a >= k ? jt : jf
    else if (code === 0x45) at += (a & k) !== 0 ? jt : jf
    else throw new Error(`instruction ${code}`)
  }
}

const cwd = -100n

describe.each(['x64', 'arm64'] as const)('the filter on %s', (name) => {
  const processor = processors[name]
  const ranges = numberRanges(1024, 65_536)
  const program = filterProgram({ processor, ranges })
  const { calls, openFlags } = processor
  const inNumbers = (fd: bigint, from: number, to: number): boolean =>
    BigInt.asUintN(32, fd) >= BigInt(from) && BigInt.asUintN(32, fd) < BigInt(to)
  const inRange = (fd: bigint): boolean => ranges.some(({ from, to }) => inNumbers(fd, from, to))
  const verdict = (number: number, ...args: bigint[]): number =>
    run(program, { architecture: processor.auditArch, number, arguments: args })

  function expected(number: number, args: readonly bigint[]): number {
    const isCwd = BigInt.asIntN(32, args[0]!) === cwd
    const bit = (index: number, mask: number): boolean => (Number(BigInt.asUintN(32, args[index]!)) & mask) !== 0
    const when = (stops: boolean): number => (stops ? Verdict.notify : Verdict.allow)
    const ofStat = (flags: number): number =>
      bit(flags, 0x1000) ? when(isCwd || inRange(args[0]!)) : when(isCwd || !bit(flags, 0x100))
    const hasDoorbells = ranges.some(({ queues, to }) => inNumbers(args[0]!, queues, to))
    if (number === calls.write)
      return when(inRange(args[0]!) && !(hasDoorbells && BigInt.asUintN(32, args[2]!) === 32n))
    if (number === calls.read) return when(inRange(args[0]!))
    if (number === calls.ioctl) return when(servedRequests.includes(Number(BigInt.asUintN(32, args[1]!))))
    if (number === calls.openat) return when(isCwd || !bit(2, openFlags.noFollow))
    if (number === calls.newfstatat) return ofStat(3)
    if (number === calls.statx) return ofStat(2)
    if (number === calls.fstat) return when(inRange(args[0]!))
    const isPolled = ranges.some(({ from, queues }) => inNumbers(args[0]!, from, queues))
    if (number === calls.dup || number === calls.dup2 || number === calls.dup3) return when(isPolled)
    if (number === calls.fcntl) return when(isPolled && [0n, 1030n].includes(BigInt.asUintN(32, args[1]!)))
    if (number === calls.socket)
      return BigInt.asUintN(32, args[0]!) === 16n && BigInt.asUintN(32, args[2]!) === 20n
        ? Verdict.fail(93)
        : Verdict.allow
    const always = ['open', 'stat', 'lstat', 'access', 'readlink', 'readlinkat', 'faccessat', 'faccessat2', 'openat2']
    const attributes = ['getxattr', 'lgetxattr', 'listxattr', 'llistxattr']
    return when([...always, ...attributes].some((call) => calls[call as keyof typeof calls] === number))
  }

  it('says of every call what it is to say', () => {
    const numbers = fc.constantFrom(...(Object.values(calls) as number[]), 0, 3, 9, 202, 500)
    const argument = fc.oneof(
      fc.constantFrom(
        cwd,
        0x100n,
        0x1000n,
        0x1100n,
        0n,
        1030n,
        16n,
        20n,
        32n,
        ...servedRequests.map(BigInt),
        1n << 32n,
        0xffffff9cn,
      ),
      fc.constantFrom(BigInt(openFlags.noFollow), BigInt(openFlags.directory)),
      fc.constantFrom(
        ...ranges.flatMap(({ from, queues, to }) => [from - 1, from, queues - 1, queues, to - 1, to].map(BigInt)),
      ),
      fc.bigInt(0n, (1n << 64n) - 1n),
    )
    const call = fc.property(numbers, fc.array(argument, { minLength: 6, maxLength: 6 }), (number, args) => {
      expect(verdict(number, ...args)).toBe(expected(number, args))
    })
    holds(call, 2000)
  })

  it('leaves other architectures alone, and calls of x32', () => {
    const arguments_ = [cwd, 0n, 0n, 0n, 0n, 0n]
    const other = { architecture: 0x40000003, number: calls.openat, arguments: arguments_ }
    expect(run(program, other)).toBe(Verdict.allow)
    expect(verdict(0x40000000 + calls.openat, ...arguments_)).toBe(Verdict.allow)
    expect(verdict(calls.openat, ...arguments_)).toBe(Verdict.notify)
  })

  it('lets a doorbell through, and no other write to a descriptor of ours', () => {
    const [{ from, queues }] = ranges as [(typeof ranges)[0]]
    const write = (fd: number, length: number): number =>
      verdict(calls.write, BigInt(fd), 4096n, BigInt(length), 0n, 0n, 0n)
    const { allow, notify } = Verdict
    expect([write(queues, doorbellBytes), write(queues, 24), write(from - 1, 24)]).toEqual([allow, notify, allow])
    expect([write(from, doorbellBytes), write(from, 24)]).toEqual([notify, notify])
  })

  it('stops at doorbells, too, where it is strict', () => {
    const strict = filterProgram({ processor, ranges, strict: true })
    const [{ from }] = ranges as [(typeof ranges)[0]]
    const verdictOf = (number: number, fd: number, length: number): number =>
      run(strict, {
        ...{ architecture: processor.auditArch, number },
        arguments: [BigInt(fd), 4096n, BigInt(length), 0n, 0n, 0n],
      })
    const write = (fd: number, length: number): number => verdictOf(calls.write, fd, length)
    expect([write(from, doorbellBytes), write(from, 24)]).toEqual([Verdict.notify, Verdict.notify])
    // A descriptor that is a duplicate of ours has any number.
    expect([write(5, doorbellBytes), write(5, 24)]).toEqual([Verdict.notify, Verdict.allow])
    expect(verdictOf(calls.fstat, 5, 0)).toBe(Verdict.notify)
  })

  it('is short', () => expect(program.length).toBeLessThan(160))
})

describe('the assembler', () => {
  it('rejects labels that are missing, behind, or too far', () => {
    const missing = new Assembler()
    missing.goto('nowhere')
    expect(() => missing.assemble()).toThrow(/nowhere/)
    const behind = new Assembler()
    behind.label('back')
    behind.load(0)
    behind.goto('back')
    expect(() => behind.assemble()).toThrow(/not ahead/)
    const far = new Assembler()
    far.ifEqual(1, 'end')
    for (let i = 0; i < 256; i++) far.load(0)
    far.label('end')
    far.return(0)
    expect(() => far.assemble()).toThrow(/too far/)
  })
})
