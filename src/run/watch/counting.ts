/** Counts of events, of each program and of each adapter. */
import type { ProgramCounts, ProgramRecord, RunCounts } from './records.ts'

function noCounts(): RunCounts {
  return {
    ...{ commands: 0, failures: 0, requests: 0, requestBytes: 0, received: 0, receivedBytes: 0 },
    ...{ completions: 0, cmEvents: 0, madsSent: 0, madsReceived: 0, errors: 0, drops: 0 },
  }
}

/** Maximum number of programs that are counted separately; a run that starts more, as a build does, counts the rest together. */
const maxPrograms = 1024

export class Counting {
  readonly #programs = new Map<string, ProgramCounts>()
  readonly #adapters = new Map<string, RunCounts>()

  add(record: ProgramRecord): void {
    if (record.type === 'note') return
    this.#count(this.#program(record.pid, record.program), record)
    let adapter = this.#adapters.get(record.device)
    if (adapter === undefined) {
      adapter = noCounts()
      this.#adapters.set(record.device, adapter)
    }
    this.#count(adapter, record)
  }

  #program(pid: number, program: string): ProgramCounts {
    const key = `${pid} ${program}`
    const known = this.#programs.get(key)
    if (known !== undefined) return known
    if (this.#programs.size >= maxPrograms && pid !== 0) return this.#program(0, 'others')
    const counts = { pid, program, ...noCounts() }
    this.#programs.set(key, counts)
    return counts
  }

  #count(counts: RunCounts, record: ProgramRecord): void {
    switch (record.type) {
      case 'command':
        counts.commands++
        if (record.errno !== undefined && !record.expected) counts.failures++
        break
      case 'request':
        counts.requests++
        counts.requestBytes += record.length
        break
      case 'completion':
        if (record.lost) counts.drops++
        else counts.completions++
        if (record.status === 'IBV_WC_SUCCESS') {
          if (!record.opcode.startsWith('IBV_WC_RECV')) break
          counts.received++
          counts.receivedBytes += record.byteLen
        } else if (record.status !== 'IBV_WC_WR_FLUSH_ERR') counts.errors++
        break
      case 'event':
        if (record.lost) counts.drops++
        break
      case 'cm-event':
        counts.cmEvents++
        if (record.reason !== undefined) counts.errors++
        break
      case 'mad':
        if (record.direction === 'sent') counts.madsSent++
        else if (record.direction === 'received') counts.madsReceived++
        if (record.reason !== undefined) counts.errors++
        break
      case 'receive':
      case 'note':
    }
  }

  get programs(): readonly ProgramCounts[] {
    return [...this.#programs.values()]
  }

  ofAdapter(name: string): RunCounts {
    return this.#adapters.get(name) ?? noCounts()
  }
}
