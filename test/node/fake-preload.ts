/** The preload over the sockets of this process: what it does to Node's modules is tested without any device. */

import { replaceTransport } from '../../src/node/base/transport.ts'
import { begin, settingsOfProcess } from '../../src/node/preload/index.ts'
import * as installer from '../../src/node/preload/install.ts'
import { openFake } from './fake-transport.ts'

replaceTransport(openFake)
const settings = settingsOfProcess()
if (settings)
  begin(settings, {
    installer: () => installer,
    library: () => {
      throw new Error('nothing opens rsockets here')
    },
    prepareProcess() {},
  })
