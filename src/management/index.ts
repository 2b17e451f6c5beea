/**
 * Management of InfiniBand ports: agents that answer for an adapter, routes of packets that go along ports, and the protocol for messages
 * of several packets. Pure: packets, time and state come from the caller.
 */
export { followRoute, invalidRoute, type Links } from './directed-route.ts'
export type { Answer, CounterBases, ManagedNode, PortTraffic, TrafficName } from './node.ts'
export { answerPerf } from './performance-agent.ts'
export { abort, type Received, RmppReceiver, type RmppReceiverLimits } from './rmpp-receiver.ts'
export { RmppSender } from './rmpp-sender.ts'
export { answerSmp, answerUnmatched } from './subnet-agent.ts'
