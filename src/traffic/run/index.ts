/** Traffic on verbs: the queue pairs between clients and servers, and the loops that drive them. */
export { ClientLoop, type ClientRun, type ClientSettings } from './client-loop.ts'
export { Control, Live } from './control.ts'
export { Idle } from './idle.ts'
export { controlSlots } from './layout.ts'
export {
  accessOf,
  type EndpointText,
  Link,
  type LinkEnd,
  type LinkHost,
  type LinkPlan,
  qpsOf,
  receivesOf,
  type TrafficClass,
} from './link.ts'
export { mostChannels, mostClasses, planOf } from './plan.ts'
export { recordOf } from './recorded.ts'
export { Requests } from './requests.ts'
export { type ServerCounts, ServerLoop } from './server-loop.ts'
export { Tally } from './tally.ts'
