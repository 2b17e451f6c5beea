import { describe, expect, it } from 'vitest'
import { devicePair } from '../../../src/tools/bench-kit/option.ts'
import { latencyOptions, messageSizes, parseLatencyLists } from '../../../src/tools/bench-latency/settings.ts'
import { coreFor, roles } from '../../../src/tools/bench-thread/pinning.ts'
import {
  parseThroughputLists,
  techniques,
  throughputCombinations,
} from '../../../src/tools/bench-throughput/settings.ts'
import type { UsageError } from '../../../src/tools/kit/index.ts'

function refusal(given: Record<string, string[]>): UsageError {
  try {
    parseLatencyLists(given)
  } catch (error) {
    return error as UsageError
  }
  throw new Error('was accepted')
}

describe('settings of the latency benchmark', () => {
  it('are the defaults when nothing is given', () => {
    const lists = parseLatencyLists({})
    expect(lists.service).toEqual(['RC'])
    expect(lists.size).toEqual([8])
    expect(lists.inline).toEqual([false])
    expect(lists.device).toEqual(['shm0,shm1'])
  })

  it('take lists with commas and by repetition, without doubles', () => {
    const lists = parseLatencyLists({
      size: ['8,64', '512', '8'],
      service: ['ud, rc'],
      inline: ['on,off'],
      pause: ['0,1000'],
    })
    expect(lists.size).toEqual([8, 64, 512])
    expect(lists.service).toEqual(['UD', 'RC'])
    expect(lists.inline).toEqual([true, false])
    expect(lists.pause).toEqual([0, 1000])
  })

  it('take a switch without a value as on', () => {
    expect(parseLatencyLists({ inline: [true], unsignaled: ['on'] }).inline).toEqual([true])
  })

  it('know every size 8·2^i of the issue', () => {
    expect(messageSizes).toEqual([8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768])
    expect(parseLatencyLists({ size: [messageSizes.join(',')] }).size).toEqual(messageSizes)
  })

  it.each([
    ['size', '7'],
    ['size', '65536'],
    ['size', ''],
    ['service', 'XRC'],
    ['op', 'read'],
    ['poll', 'sleep'],
    ['pollComp', 'never'],
    ['inline', 'maybe'],
    ['burst', '0'],
    ['burst', '8193'],
    ['pause', '-1'],
    ['pause', '1.5'],
    ['stamp', 'later'],
    ['engine', 'gpu'],
    ['pin', 'a,b'],
    ['device', 'shm0,shm1,shm2'],
    ['device', ','],
  ] as const)('refuse %s %j with a message that says what to do', (key, text) => {
    const { message, option } = refusal({ [key]: [text] })
    const { flag, expected, example } = latencyOptions[key]
    expect(option).toBe(flag)
    expect(message).toContain(`${flag}: '${text.split(',').length > 1 && !latencyOptions[key].whole ? '' : text}`)
    expect(message).toContain(expected)
    expect(message).toContain(`${flag} ${example}`)
  })

  it('pair a single adapter with its neighbour', () => {
    expect(devicePair('shm0')).toBe('shm0,shm1')
    expect(devicePair('shm1')).toBe('shm1,shm0')
    expect(devicePair('shm:lab')).toBe('shm:lab,shm:lab/1')
    expect(devicePair('shm:lab/1')).toBe('shm:lab/1,shm:lab')
    expect(devicePair('shm0, shm0')).toBe('shm0,shm0')
    expect(devicePair('roce:127.0.0.1')).toBe('roce:127.0.0.1,roce:127.0.0.2')
    expect(devicePair('roce:127.0.0.2')).toBe('roce:127.0.0.2,roce:127.0.0.1')
    expect(devicePair('roce:10.0.0.1')).toBe('roce:10.0.0.1,roce:10.0.0.1')
    expect(devicePair('mlx5_0')).toBe('mlx5_0,mlx5_0')
  })

  it('keep the cores of --pin together', () => {
    const { pin } = parseLatencyLists({ pin: ['0,1', 'none', '2, 3, 0', 'auto'] })
    expect(pin).toEqual(['0,1', 'none', '2,3,0', 'auto'])
  })
})

describe('settings of the throughput benchmark', () => {
  it('add the batch comparison when nothing restricts them', () => {
    const all = throughputCombinations(parseThroughputLists({}), {})
    expect(new Set(all.map(({ technique }) => technique))).toEqual(new Set(techniques))
    const batches = all.filter(({ technique, concurrent }) => technique === 'write-batch' && concurrent === 64)
    expect(batches.map(({ batch }) => batch).sort((a, b) => a - b)).toEqual([1, 2, 4, 8, 16, 32, 64])
  })

  it('vary only what a technique has', () => {
    const given = { technique: ['write,write-batch,srq'], concurrent: ['8'], batch: ['2,4'], qps: ['1,3'] }
    const all = throughputCombinations(parseThroughputLists(given), given)
    const shown = all.map(({ technique, batch, qps }) => `${technique} ${batch} ${qps}`)
    expect(shown).toEqual(['write 1 1', 'write-batch 2 1', 'write-batch 4 1', 'srq 1 1', 'srq 1 3'])
  })
})

describe('cores of the threads', () => {
  const four = [4, 5, 6, 7]

  it('are those of --pin, in the order of the roles, from the head again when there are fewer', () => {
    expect(roles.map((role) => coreFor('3,1', role, four))).toEqual([3, 1, 3, 1])
    expect(roles.map((role) => coreFor('2', role, four))).toEqual([2, 2, 2, 2])
    expect(roles.map((role) => coreFor('none', role, four))).toEqual([undefined, undefined, undefined, undefined])
  })

  it('are chosen from those of the process', () => {
    expect(roles.map((role) => coreFor('auto', role, four))).toEqual(four)
    expect(roles.map((role) => coreFor('auto', role, [4, 6]))).toEqual([4, 6, undefined, undefined])
    expect(coreFor('auto', 'sender', [4])).toBeUndefined()
  })
})
