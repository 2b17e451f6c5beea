/**
 * The kernel's filter for RoCE, as a classic BPF program: RoCEv1 by its Ethertype, RoCEv2 by UDP ports, both inside up to two VLAN
 * tags (the outermost is no longer in the frame when the filter sees it, so three are passed). Later fragments, and UDP after
 * IPv6 extension headers, are not matched.
 */
import type { BpfInstruction } from '../memory/index.ts'

export interface CaptureFilter {
  readonly v1: boolean
  /** UDP destination ports of RoCEv2; if empty, RoCEv2 is not matched. */
  readonly udpPorts: readonly number[]
  /** Maximum number of bytes captured of a frame. */
  readonly snapBytes: number
}

const code = {
  ldw: 0x20,
  ldh: 0x28,
  ldb: 0x30,
  ldhX: 0x48,
  ldxIpLength: 0xb1,
  jeq: 0x15,
  jset: 0x45,
  ja: 0x05,
  ret: 0x06,
} as const
const EtherType = { ipv4: 0x0800, ipv6: 0x86dd, roceV1: 0x8915 } as const
const tagTypes = [0x8100, 0x88a8, 0x9100]
const udp = 17
const mostTags = 2
const etherTypeAt = 12

/** Step whose jumps go to labels; a jump without a label goes to the next step. */
interface Step {
  readonly code: number
  readonly k: number
  readonly label?: string
  readonly yes?: string
  readonly no?: string
}

/** Offsets beyond the frame at which the kernel provides metadata of it (SKF_AD_OFF of linux/filter.h). */
const ancillary = { packetType: 0xfffff004, hardwareType: 0xfffff01c } as const
const outgoing = 4
const loopback = 772

/** Returns the program without frames that the loopback interface sends: it also receives each of them. libpcap leaves them out, too. */
export function withoutEchoes(program: readonly BpfInstruction[]): BpfInstruction[] {
  return [
    { code: code.ldw, jt: 0, jf: 0, k: ancillary.packetType },
    { code: code.jeq, jt: 0, jf: 3, k: outgoing },
    { code: code.ldh, jt: 0, jf: 0, k: ancillary.hardwareType },
    { code: code.jeq, jt: 0, jf: 1, k: loopback },
    { code: code.ret, jt: 0, jf: 0, k: 0 },
    ...program,
  ]
}

/** Returns a filter that passes all frames, cut to `snapBytes`. */
export function wholeFilter(snapBytes: number): BpfInstruction[] {
  return [{ code: code.ret, jt: 0, jf: 0, k: snapBytes }]
}

export function roceFilter({ v1, udpPorts, snapBytes }: CaptureFilter): BpfInstruction[] {
  const steps: Step[] = []
  for (let tags = 0; tags <= mostTags; tags++) {
    const at = etherTypeAt + 4 * tags
    steps.push({ code: code.ldh, k: at, label: `type${tags}` })
    if (v1) steps.push({ code: code.jeq, k: EtherType.roceV1, yes: 'take' })
    if (udpPorts.length > 0) {
      steps.push({ code: code.jeq, k: EtherType.ipv4, yes: `v4 ${tags}` })
      steps.push({ code: code.jeq, k: EtherType.ipv6, yes: `v6 ${tags}` })
    }
    if (tags < mostTags) for (const type of tagTypes) steps.push({ code: code.jeq, k: type, yes: `type${tags + 1}` })
    steps.push({ code: code.ja, k: 0, yes: 'leave' })
    if (udpPorts.length > 0) steps.push(...ipSteps(at + 2, tags, udpPorts))
  }
  steps.push({ code: code.ret, k: snapBytes, label: 'take' }, { code: code.ret, k: 0, label: 'leave' })
  return assemble(steps)
}

function ipSteps(at: number, tags: number, ports: readonly number[]): Step[] {
  const toPort: Step[] = ports.map((port) => ({ code: code.jeq, k: port, yes: 'take' }))
  const leave: Step = { code: code.ja, k: 0, yes: 'leave' }
  return [
    { code: code.ldb, k: at + 9, label: `v4 ${tags}` },
    { code: code.jeq, k: udp, no: 'leave' },
    { code: code.ldh, k: at + 6 },
    { code: code.jset, k: 0x1fff, yes: 'leave' },
    { code: code.ldxIpLength, k: at },
    { code: code.ldhX, k: at + 2 },
    ...toPort,
    leave,
    { code: code.ldb, k: at + 6, label: `v6 ${tags}` },
    { code: code.jeq, k: udp, no: 'leave' },
    { code: code.ldh, k: at + 42 },
    ...toPort,
    leave,
  ]
}

/** Resolves labels. Conditional jumps reach 255 steps forwards, unconditional ones any number. */
function assemble(steps: readonly Step[]): BpfInstruction[] {
  const places = new Map(steps.flatMap(({ label }, i) => (label === undefined ? [] : [[label, i] as const])))
  return steps.map((step, i) => {
    const to = (label: string | undefined): number => (label === undefined ? 0 : places.get(label)! - i - 1)
    if (step.code === code.ja) return { code: step.code, jt: 0, jf: 0, k: to(step.yes) }
    const [jt, jf] = [to(step.yes), to(step.no)]
    if (jt > 255 || jf > 255) throw new RangeError('the filter has too many UDP ports: give fewer')
    return { code: step.code, jt, jf, k: step.k }
  })
}
