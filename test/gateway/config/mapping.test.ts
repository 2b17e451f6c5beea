import { describe, expect, it } from 'vitest'
import { mappingText, parseMapping, resolveMapping, type Signal, SignalType } from '../../../src/gateway/index.ts'

const signals: Signal[] = ['voltage', 'current', 'power', '7'].map((name) => ({
  name,
  unit: 'x',
  type: SignalType.float,
}))

/** First value and names of signals that an expression takes from `signals`. */
function taken(text: string): [number, string[]] {
  const { first, signals: mapped } = resolveMapping(parseMapping(text), signals)
  return [first, mapped.map(({ name }) => name)]
}

describe('mapping expressions', () => {
  it.each([
    ['node', 0, ['voltage', 'current', 'power', '7']],
    ['node[1]', 1, ['current']],
    ['node[0-2]', 0, ['voltage', 'current', 'power']],
    ['node[voltage-power]', 0, ['voltage', 'current', 'power']],
    ['node.data[1-power]', 1, ['current', 'power']],
    ['node.data[current]', 1, ['current']],
    ['node.power', 2, ['power']],
    ['node.data.power', 2, ['power']],
    // A name goes before an index, as in VILLASnode.
    ['node[7]', 3, ['7']],
    ['node.hdr.sequence', 0, ['node.hdr.sequence']],
    ['node.hdr.length', 0, ['node.hdr.length']],
    ['node.ts.origin', 0, ['node.ts.origin.sec', 'node.ts.origin.nsec']],
    ['node.ts.received', 0, ['node.ts.received.sec', 'node.ts.received.nsec']],
    ['node.stats.owd.mean', 0, ['node.stats.owd.mean']],
    ['node.stats.gap_received.stddev', 0, ['node.stats.gap_received.stddev']],
    ['node.stats.rtp.jitter.last', 0, ['node.stats.rtp.jitter.last']],
  ])('%s', (text, first, names) => {
    expect(taken(text)).toEqual([first, names])
    const mapping = parseMapping(text)
    expect(parseMapping(mappingText(mapping))).toEqual(mapping)
  })

  it('have types and units: times and headers are integers, statistics floats and counts', () => {
    const kinds = (text: string) =>
      resolveMapping(parseMapping(text), signals).signals.map(({ unit, type }) => [unit, type])
    expect(kinds('node.ts.origin')).toEqual([
      ['s', SignalType.integer],
      ['ns', SignalType.integer],
    ])
    expect(kinds('node.hdr.length')).toEqual([['', SignalType.integer]])
    expect(kinds('node.stats.owd.mean')).toEqual([['seconds', SignalType.float]])
    expect(kinds('node.stats.skipped.total')).toEqual([['samples', SignalType.integer]])
  })

  it.each([
    ['Node', /'Node' is not valid: expected 'node', .*names of nodes have 2 to 32/],
    ['node.hdr.sequnce', /'sequnce' is no field of the header. Did you mean 'sequence'\?/],
    ['node.ts.recieved', /'recieved' is no time. Did you mean 'received'\?/],
    ['node.stats.owd.men', /'men' is no value of a statistic. Did you mean 'mean'\? Expected one of last, /],
    ['node.stats.odw.mean', /'odw' is no statistic. Did you mean 'owd'\?/],
    ['node.data[0-]', /is not valid: expected 'node'/],
    ['node[0', /is not valid/],
    ['', /is not valid/],
    ['node.voltag', /node 'node' has no signal 'voltag'. Did you mean 'voltage'\?/],
    ['node[9]', /node 'node' has 4 signals, 0 to 3; there is no 9/],
    ['node[2-0]', /the range ends \(0\) before it begins \(2\)/],
  ])('%s is refused', (text, message) => {
    expect(() => taken(text)).toThrow(message)
  })
})
