/** Quantities as people write them: sizes, rates, times. Each function returns undefined for a text that it cannot read. */

const factors = {
  size: {
    '': 1,
    b: 1,
    k: 2 ** 10,
    kib: 2 ** 10,
    m: 2 ** 20,
    mib: 2 ** 20,
    g: 2 ** 30,
    gib: 2 ** 30,
    kb: 1e3,
    mb: 1e6,
    gb: 1e9,
  },
  rate: {
    '': 1,
    bps: 1,
    kbps: 1e3,
    mbps: 1e6,
    gbps: 1e9,
    tbps: 1e12,
    'bit/s': 1,
    'kbit/s': 1e3,
    'mbit/s': 1e6,
    'gbit/s': 1e9,
  },
  time: { '': 1e9, ns: 1, us: 1e3, µs: 1e3, ms: 1e6, s: 1e9, min: 60e9, h: 3600e9 },
  perSecond: { '': 1, '/s': 1, 'k/s': 1e3, 'm/s': 1e6, k: 1e3, m: 1e6 },
} as const

function quantity(value: unknown, units: Readonly<Record<string, number>>): number | undefined {
  if (typeof value === 'number') return Number.isFinite(value) && value >= 0 ? value * units['']! : undefined
  if (typeof value !== 'string') return undefined
  const [, number, unit] = /^(\d+(?:\.\d*)?(?:e[+-]?\d+)?|\.\d+)\s*([a-zµ/]*)$/i.exec(value.trim()) ?? []
  const factor = unit === undefined ? undefined : units[unit.toLowerCase()]
  return factor === undefined ? undefined : Number(number) * factor
}

/** Returns bytes: `4096`, `64KiB`, `1MB`. K, M and G are powers of 1024, KB, MB and GB powers of 1000. */
export function bytesOf(value: unknown): number | undefined {
  const bytes = quantity(value, factors.size)
  return bytes === undefined || bytes > Number.MAX_SAFE_INTEGER ? undefined : Math.round(bytes)
}

/** Returns bits per second: `500Mbps`, `25Gbps`, a number. */
export function bitsPerSecondOf(value: unknown): number | undefined {
  return quantity(value, factors.rate)
}

/** Returns nanoseconds: `10us`, `1.5ms`, `2s`; a number is seconds. */
export function nanosecondsOf(value: unknown): number | undefined {
  return quantity(value, factors.time)
}

/** Returns a number per second: `20000`, `100k/s`, `3M/s`. */
export function perSecondOf(value: unknown): number | undefined {
  return quantity(value, factors.perSecond)
}
