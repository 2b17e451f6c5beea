/** Metrics over HTTP: who may ask, and for what. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { afterAll, describe, expect, it } from 'vitest'
import { serveScrapes } from '../../../src/tools/kit/index.ts'

const scrapes = await serveScrapes({
  flag: '--metrics',
  host: '127.0.0.1',
  port: 0,
  token: 'secret',
  text: () => 'a 1\n',
})
const open = await serveScrapes({ flag: '--metrics', host: '127.0.0.1', port: 0, token: null, text: () => 'a 1\n' })
afterAll(async () => {
  await scrapes.close()
  await open.close()
})

/** The status of the response to these bytes. */
async function statusOf(target: string, token?: string, headers = 'Host: localhost', of = scrapes): Promise<string> {
  const { port } = new URL(of.url)
  const socket = connect(Number(port), '127.0.0.1').setEncoding('latin1')
  const authorization = token === undefined ? '' : `Authorization: Bearer ${token}\r\n`
  socket.write(`GET ${target} HTTP/1.1\r\n${headers}\r\n${authorization}\r\n`)
  const [text] = (await once(socket, 'data')) as [string]
  socket.destroy()
  return text.split(' ')[1]!
}

describe('scrapes', () => {
  it.each(['//', '//metrics', 'http://[', '/metrics'])('%s needs the token, and ends nothing', async (target) => {
    expect(await statusOf(target)).toBe('401')
    expect(await statusOf(target, 'wrong')).toBe('401')
  })

  it.each([
    ['/metrics', '200'],
    ['/metrics?name=a', '200'],
    ['/', '200'],
    ['//', '404'],
    ['/else', '404'],
  ])('%s gives %s', async (target, status) => expect(await statusOf(target, 'secret')).toBe(status))

  it.each([
    ['Host: localhost:9882', '200'],
    ['Host: 127.0.0.1', '200'],
    ['Host: evil.example', '403'],
    ['Host: localhost\r\nOrigin: http://evil.example', '403'],
  ])('without a token, %j gives %s', async (headers, status) =>
    expect(await statusOf('/metrics', undefined, headers, open)).toBe(status),
  )

  it('with a token, this host may have any name', async () =>
    expect(await statusOf('/metrics', 'secret', 'Host: monitor.example')).toBe('200'))
})
