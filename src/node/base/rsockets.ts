/** Import for its effect: the sockets of this folder use rsockets. */
import { rsocket } from '../../rsocket/index.ts'
import { UdpService } from '../../rsocket/runtime/index.ts'
import { loadTransportBy } from './transport.ts'

loadTransportBy(() => ({
  open: (family, type, options) => rsocket(family, type, 0, options),
  whenDatagramsGo: (done) => UdpService.whenRunning(done),
}))
