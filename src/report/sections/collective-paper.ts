/**
 * Times that Viertel (2006) states in the text of section 5, microseconds: MTPB 23108 adapters, 3 GHz Xeons, 64 hosts. Its diagrams have more
 * points, but no numbers.
 */
export interface PaperTime {
  transport: string
  mode: string
  measure: string
  size: number
  processes: number
  us: number
}

type Row = readonly [transport: string, mode: string, size: number, processes: number, us: number]

const roundTrips: readonly Row[] = [
  ['multicast', 'SEND', 1, 1, 47],
  ['RC', 'WRITE', 1, 1, 20],
  ['UD', 'SEND', 1, 1, 22.5],
  ['multicast', 'SEND', 1, 10, 5.1],
  ['UD', 'SEND', 1, 10, 5.8],
  ['UC', 'SEND', 1, 12, 5.1],
  ['RC', 'SEND', 1, 12, 5.6],
  ['multicast', 'SEND', 1, 62, 1.8],
  ['UD', 'SEND', 1, 62, 3.3],
  ['RC', 'SEND', 1, 62, 9.2],
  ['UC', 'SEND', 1, 62, 9.2],
  ['multicast', 'SEND', 2048, 62, 1.3],
  ['UD', 'SEND', 2048, 62, 6.4],
  ['RC', 'SEND', 65_536, 2, 178],
  ['RC', 'WRITE', 65_536, 2, 177],
  ['RC', 'SEND', 65_536, 16, 168],
  ['RC', 'WRITE', 65_536, 16, 170],
  ['RC', 'WRITE', 65_536, 63, 177],
  ['RC', 'SEND', 1 << 20, 2, 2800],
  ['RC', 'SEND', 1 << 20, 16, 2680],
  ['RC', 'READ', 1, 1, 42],
  ['RC', 'READ', 1, 16, 11.2],
  ['RC', 'READ', 2048, 24, 12],
]

const readParts: readonly (readonly [measure: string, size: number, processes: number, us: number])[] = [
  ['RDMART_1N', 1, 5, 8.5],
  ['RDMART_N1', 1, 9, 3],
  ['RDMART_1N', 2048, 20, 8.7],
  ['RDMART_N1', 2048, 20, 2.5],
  ['RDMART_1N', 32_768, 20, 20.5],
  ['RDMART_N1', 32_768, 20, 47],
]

export const paperTimes: readonly PaperTime[] = [
  ...roundTrips.map(([transport, mode, size, processes, us]) => ({
    ...{ transport, mode, measure: 'MEA_RTT_TIME', size, processes, us },
  })),
  ...readParts.map(([measure, size, processes, us]) => ({
    ...{ transport: 'RC', mode: 'READ', measure, size, processes, us },
  })),
]
