/** Times at which packets are sent: --speed, --pps, --rate. */
import type { Pace } from '../../replay/index.ts'
import { UsageError, wrongValue } from '../kit/index.ts'

export interface PaceOptions {
  speed?: string
  pps?: string
  rate?: string
}

export function paceOf({ speed, pps, rate }: PaceOptions): Pace {
  if ([speed, pps, rate].filter((one) => one !== undefined).length > 1)
    throw new UsageError('--speed', 'only one of --speed, --pps and --rate')
  if (pps !== undefined) return { type: 'packets', perSecond: scaled('--pps', pps, '100k') }
  if (rate !== undefined) return { type: 'bits', perSecond: scaled('--rate', rate, '10G') }
  if (speed === 'top') return { type: 'top' }
  return { type: 'captured', speed: speed === undefined ? 1 : scaled('--speed', speed.replace(/x$/i, ''), '2x') }
}

const factors: Readonly<Record<string, number>> = { '': 1, k: 1e3, m: 1e6, g: 1e9 }

function scaled(flag: string, text: string, example: string): number {
  const [, digits, letter = ''] = /^(\d+(?:\.\d+)?|\.\d+)([kmg]?)(?:bps|bit\/s)?$/i.exec(text.trim()) ?? []
  const value = Number(digits) * factors[letter.toLowerCase()]!
  if (digits === undefined || !(value > 0)) throw wrongValue(flag, text, 'a number above 0', example)
  return value
}
