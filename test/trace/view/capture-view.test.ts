/** A capture that was read once shows any packet again, as `trace show` does, and tells the same of its conversations. */
import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { analyseCapture, bytesSource, plainJson, type Row, showCapture } from '../../../src/trace/index.ts'
import { CaptureView, captureBytes } from '../../../src/trace/view/index.ts'

const folder = new URL('../../captures/', import.meta.url)
const files = readdirSync(folder).filter((name) => name.endsWith('.pcap'))
const plain = (row: Row): unknown => JSON.parse(JSON.stringify(row, plainJson))

async function viewOf(bytes: Uint8Array, limit?: number): Promise<CaptureView> {
  const view = new CaptureView(captureBytes(bytes), {}, limit)
  await view.load({ signal: new AbortController().signal, onProgress() {} })
  return view
}

async function rowsOf(view: CaptureView, packets: ArrayLike<number>): Promise<unknown[]> {
  const rows: unknown[] = []
  await view.rows(packets, (row) => {
    rows.push(plain(row))
    return undefined
  })
  return rows
}

describe.each(files)('%s', (file) => {
  const bytes = new Uint8Array(readFileSync(new URL(file, folder)))

  it('has the rows of trace show and the conversations of trace info', async () => {
    const view = await viewOf(bytes)
    const shown: unknown[] = []
    await showCapture(bytesSource(bytes), (row) => shown.push(plain(row)))
    const all = Array.from({ length: view.index.count }, (_, i) => i)
    expect(await rowsOf(view, all)).toEqual(shown)
    // Any of them by itself, too.
    expect(
      await rowsOf(
        view,
        all.filter((i) => i % 7 === 3),
      ),
    ).toEqual(shown.filter((_, i) => i % 7 === 3))
    expect(view.info()).toEqual(await analyseCapture(bytesSource(bytes)))
  })
})
