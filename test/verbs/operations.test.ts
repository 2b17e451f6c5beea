/** The table of operations, beside what the InfiniBand Architecture says of each: its sections 9.4 and A19. */
import { expect, it } from 'vitest'
import { Opcode, QpType, WcOpcode } from '../../src/index.ts'
import {
  answeredOpcodes,
  atomicOpcodes,
  completionOpcodes,
  fillingOpcodes,
  hasOpcode,
  inlineOpcodes,
  legalOpcodes,
  localOpcodes,
  receiveOpcodes,
  remoteOpcodes,
} from '../../src/verbs/provider/index.ts'

const names = Object.keys(Opcode) as (keyof typeof Opcode)[]
const within = (mask: number): string[] => names.filter((name) => hasOpcode(mask, Opcode[name])).sort()

// IBA 9.4.1, 9.4.1.1, 9.4.3, 9.4.4, 9.4.5, A19.4.1.1
it('has the operations that each service type executes', () => {
  expect(within(legalOpcodes[QpType.RC])).toEqual([...names].sort())
  expect(within(legalOpcodes[QpType.UC])).toEqual(
    ['BindMw', 'LocalInv', 'Send', 'SendWithImm', 'Write', 'WriteWithImm'].sort(),
  )
  expect(within(legalOpcodes[QpType.UD])).toEqual(['Send', 'SendWithImm'])
  expect(within(legalOpcodes[QpType.GSI])).toEqual(['Send'])
})

it('has what each of them needs of the peer, and what the peer gives', () => {
  expect(within(receiveOpcodes)).toEqual(['Send', 'SendWithImm', 'SendWithInv', 'WriteWithImm'])
  expect(within(fillingOpcodes)).toEqual(['AtomicCmpAndSwp', 'AtomicFetchAndAdd', 'Read'])
  expect(within(atomicOpcodes)).toEqual(['AtomicCmpAndSwp', 'AtomicFetchAndAdd'])
  expect(within(answeredOpcodes)).toEqual([...within(fillingOpcodes), 'AtomicWrite', 'Flush'].sort())
  expect(within(remoteOpcodes)).toEqual([...within(answeredOpcodes), 'Write', 'WriteWithImm'].sort())
  expect(within(localOpcodes)).toEqual(['BindMw', 'LocalInv'])
  expect(within(inlineOpcodes)).toEqual([
    ...['AtomicWrite', 'Send', 'SendWithImm', 'SendWithInv', 'Write', 'WriteWithImm'],
  ])
})

it('has a completion for each of them: of the same name, or of the operation that it is a kind of', () => {
  const kinds: Record<string, string> = { AtomicCmpAndSwp: 'CompSwap', AtomicFetchAndAdd: 'FetchAdd' }
  for (const name of names) {
    const kind = kinds[name] ?? name.replace(/With(Imm|Inv)$/, '')
    expect(completionOpcodes[Opcode[name]], name).toBe(WcOpcode[kind as keyof typeof WcOpcode])
  }
})
