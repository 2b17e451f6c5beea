/** The preload over the sockets of this process: what it does to Node's modules is tested without any device. */

import { replaceTransport } from '../../src/rsocket/net/transport.ts'
import { settingsOfProcess } from '../../src/rsocket/preload/index.ts'
import { install } from '../../src/rsocket/preload/install.ts'
import { openFake } from './fake-transport.ts'

replaceTransport(openFake)
const settings = settingsOfProcess()
if (settings) install(settings)
