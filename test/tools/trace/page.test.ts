/** `verbena trace page` as a command; what the page does is tested in test/browser. */
import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { afterAll, describe, expect, it } from 'vitest'
import { verbena } from '../../cli/in-process.ts'

const capture = new URL('../../captures/rping.pcap', import.meta.url).pathname
const dir = mkdtempSync(join(tmpdir(), 'verbena-page-'))
afterAll(() => rmSync(dir, { recursive: true, force: true }))

/** The captures in a page, by name. */
function capturesIn(html: string): [string, Buffer][] {
  const pattern = /<script type="application\/octet-stream" data-capture="([^"]*)">([^<]*)</g
  return [...html.matchAll(pattern)].map(([, name, text]) => [name!, Buffer.from(text!, 'base64')])
}

describe('trace page', () => {
  it('writes a page whose policy permits its own style and script, and no request', async () => {
    const out = join(dir, 'empty.html')
    expect(await verbena('trace', 'page', '--out', out)).toMatchObject({ code: 0, stdout: `${out}\n`, stderr: '' })
    const html = readFileSync(out, 'utf8')
    const policy = /http-equiv="Content-Security-Policy" content="([^"]*)"/.exec(html)![1]!
    const hash = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`
    const script = /<script>([\s\S]*?)<\/script>\n<\/body>/.exec(html)![1]!
    const style = /<style>([\s\S]*?)<\/style>/.exec(html)![1]!
    const allowed = policy.split('; ').filter((rule) => !rule.endsWith("'none'"))
    expect(policy).toContain("default-src 'none'")
    expect(allowed).toEqual([
      `style-src ${hash(style)}`,
      `script-src ${hash(script)}`,
      'worker-src blob:',
      'img-src data:',
    ])
    expect(html).not.toMatch(/(src|href)="(?!data:)/)
    expect(capturesIn(html)).toEqual([])
  })

  it('puts captures into it, compressed', async () => {
    const bytes = readFileSync(capture)
    const named = join(dir, 'a "name" & <more>.pcap.gz')
    writeFileSync(named, gzipSync(bytes))
    const { code, stdout, stderr } = await verbena('trace', 'page', capture, named, '-o', '-')
    expect([code, stderr]).toEqual([0, expect.stringMatching(/^[\d.]+ KiB of captures are in the page/)])
    expect(capturesIn(stdout).map(([name]) => name)).toEqual([
      'rping.pcap',
      'a &quot;name&quot; &amp; &lt;more&gt;.pcap.gz',
    ])
    for (const [, packed] of capturesIn(stdout)) expect(gunzipSync(packed).equals(bytes)).toBe(true)
  })

  it('says which file is no capture, is not there, or is too large', async () => {
    const text = join(dir, 'text')
    writeFileSync(text, 'not a capture')
    const backup = join(dir, 'backup.tar.gz')
    writeFileSync(backup, gzipSync('not a capture either'))
    const large = join(dir, 'large.pcap.gz')
    writeFileSync(large, Buffer.concat([Uint8Array.of(0x1f, 0x8b), Buffer.alloc(33 * 2 ** 20)]))
    for (const [file, why] of [
      [text, /neither pcap nor pcapng/],
      [backup, /backup.*neither pcap nor pcapng/],
      [join(dir, 'none'), /there is no such file/],
      [dir, /is a directory/],
      [large, /33 MiB when compressed: a page may hold 32 MiB.*trace convert/],
    ] as const) {
      const out = join(dir, 'never.html')
      expect(await verbena('trace', 'page', file, '-o', out)).toMatchObject({
        code: 2,
        stderr: expect.stringMatching(why),
      })
      expect(() => readFileSync(out)).toThrow(/ENOENT/)
    }
  })
})
