/** Importing this has rsockets below the sockets of this folder. */
import { rsocket } from '../../rsocket/index.ts'
import { UdpService } from '../../rsocket/runtime/index.ts'
import { loadTransportBy } from './transport.ts'

loadTransportBy(() => ({
  open: (family, type, options) => rsocket(family, type, 0, options),
  whenDatagramsGo: (done) => UdpService.whenRunning(done),
}))
