/** Problems of one packet taken by itself: a bit for each rule, and its text. */

export const Problem = {
  IpLength: 0x2,
  Fragment: 0x4,
  UdpLength: 0x8,
  TooShort: 0x10,
  Opcode: 0x20,
  Version: 0x40,
  Alignment: 0x80,
  Pad: 0x100,
  NoPayload: 0x200,
  PlaceLength: 0x400,
  OperandLength: 0x800,
  DmaLength: 0x1000,
  Syndrome: 0x2000,
  MadLength: 0x4000,
  Grh: 0x8000,
  Lrh: 0x10000,
  Vcrc: 0x20000,
} as const

const words: readonly (readonly [bit: number, name: string, text: string])[] = [
  [Problem.IpLength, 'ip-length', 'the IP length is more than the frame has'],
  [Problem.Fragment, 'fragment', 'an IP fragment: RoCE packets are never fragmented'],
  [Problem.UdpLength, 'udp-length', 'the UDP length does not agree with the IP length'],
  [Problem.TooShort, 'too-short', 'too short for its headers and the ICRC'],
  [Problem.Opcode, 'opcode', 'no such opcode'],
  [Problem.Version, 'version', 'the transport header version is not 0'],
  [Problem.Alignment, 'alignment', 'the length is not a multiple of 4'],
  [Problem.Pad, 'pad', 'a pad count where it cannot be'],
  [Problem.NoPayload, 'no-payload', 'a payload after an opcode that has none'],
  [Problem.PlaceLength, 'place-length', 'a payload length that is impossible at this place of a message'],
  [Problem.OperandLength, 'operand-length', 'an ATOMIC WRITE without exactly 8 bytes'],
  [Problem.DmaLength, 'dma-length', 'the DMA length does not agree with the payload, or is above 2^31'],
  [Problem.Syndrome, 'syndrome', 'a reserved AETH syndrome'],
  [Problem.MadLength, 'mad-length', 'a management datagram without exactly 256 bytes'],
  [Problem.Grh, 'grh', 'the GRH is damaged or its length does not agree with the frame'],
  [Problem.Lrh, 'lrh', 'the LRH is damaged or its length does not agree with the frame'],
  [Problem.Vcrc, 'vcrc', 'the VCRC is wrong'],
]

/** Returns short names, for programs. */
export function problemNames(problems: number): string[] {
  return words.filter(([bit]) => (problems & bit) !== 0).map(([, name]) => name)
}

/** Returns one sentence for each, for people. */
export function problemTexts(problems: number): string[] {
  return words.filter(([bit]) => (problems & bit) !== 0).map(([, , text]) => text)
}

/** Rules in the order in which they are documented. */
export const problemRules: readonly { name: string; text: string }[] = words.map(([, name, text]) => ({ name, text }))
