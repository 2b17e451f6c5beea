/**
 * Values of the syndrome of an AETH (InfiniBand Architecture Specification, volume 1, 9.7.5.2):
 *
 *     0 00 CCCCC   ACK, with the credit code C
 *     0 01 TTTTT   RNR NAK, with the timer code T
 *     0 11 NNNNN   NAK, with the reason N
 */

/** Bits 7:5 of a syndrome. The patterns not named here are reserved. */
export const AethKind = { Ack: 0x00, RnrNak: 0x20, Nak: 0x60 } as const
export const aethKindBits = 0xe0
export const aethValueBits = 0x1f

/** IBA 9.7.5.2.2: complete syndromes of the NAKs, and of the ACK that carries no credit count. */
export const Syndrome = {
  AckNoCredits: 0x1f,
  PsnSequence: 0x60,
  InvalidRequest: 0x61,
  RemoteAccess: 0x62,
  RemoteOperational: 0x63,
  InvalidRdRequest: 0x64,
} as const

/** IBA 9.7.5.2.8: wait time of an RNR NAK in nanoseconds, indexed by its timer code. Code 0 is the longest. */
export const rnrTimerNs: Float64Array = Float64Array.from(
  [
    65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096,
    6144, 8192, 12288, 16384, 24576, 32768, 49152,
  ],
  (hundredthsOfMs) => hundredthsOfMs * 10_000,
)

/** Returns the code of the shortest RNR time that is at least `ns`; code 0, 655.36 ms, if there is none. */
export function rnrTimerCode(ns: number): number {
  for (let code = 1; code < 32; code++) if (rnrTimerNs[code]! >= ns) return code
  return 0
}

/** Credit code without a credit count: no end-to-end flow control. */
export const noCreditCode = 31

/** IBA 9.7.7.2: number of receives that a credit code stands for; -1 for code 31. 0, 1, 2, 3, 4, 6, 8, 12, 16, … 32768. */
export function creditsOf(code: number): number {
  if (code === noCreditCode) return -1
  if (code < 2) return code
  return code & 1 ? 3 * 2 ** ((code - 3) / 2) : 2 ** (code / 2)
}

/** Returns the largest code that promises no more than `credits` receives. */
export function creditCode(credits: number): number {
  let code = 0
  while (code < 30 && creditsOf(code + 1) <= credits) code++
  return code
}

/** Returns a readable text: ACK, RNR NAK 0.12 ms, NAK PSN sequence error, …. */
export function syndromeText(syndrome: number): string {
  const value = syndrome & aethValueBits
  switch (syndrome & aethKindBits) {
    case AethKind.Ack:
      return value === noCreditCode ? 'ACK' : `ACK, ${creditsOf(value)} credits`
    case AethKind.RnrNak:
      return `RNR NAK, ${rnrTimerNs[value]! / 1e6} ms`
    case AethKind.Nak:
      return `NAK, ${nakReasons[value] ?? `reserved reason ${value}`}`
    default:
      return `reserved syndrome 0x${syndrome.toString(16).padStart(2, '0')}`
  }
}

const nakReasons = [
  'PSN sequence error',
  'invalid request',
  'remote access error',
  'remote operational error',
  'invalid RD request',
]
