/** What the preload adds to sockets of Node's own must not make them slow. */
import net from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, it } from 'vitest'
import type { Attachment } from '../../../src/node/base/attachment.ts'
import type { NodeSocket } from '../../../src/node/preload/node-net.ts'
import { hideFigures, showFigures } from '../../../src/node/preload/sockets.ts'

setFlagsFromString('--allow-natives-syntax')
const isFast = runInNewContext('(object) => %HasFastProperties(object)') as (object: object) => boolean

it('sockets count in their links, and their properties stay what V8 accesses fast', () => {
  for (let i = 1; i <= 4; i++) {
    const socket = new net.Socket() as unknown as NodeSocket
    socket._verbena = { link: { bytesRead: i, bytesWritten: 10 * i } } as Attachment
    showFigures(socket)
    expect(socket).toMatchObject({ bytesRead: i, _bytesDispatched: 10 * i })
    expect(Object.keys(socket)).not.toContain('bytesRead')
    expect(isFast(socket)).toBe(true)
    socket._verbena = undefined
    hideFigures(socket)
    expect((socket as unknown as net.Socket).bytesRead).toBe(0)
  }
})
