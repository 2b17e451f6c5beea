/** All sections of the report, in the order of the page. */
import { algorithms } from './algorithms.ts'
import { collective } from './collective.ts'
import { latency } from './latency.ts'
import { nodes } from './nodes.ts'
import { sockets } from './sockets.ts'
import { throughput } from './throughput.ts'
import { traffic } from './traffic.ts'

type Sections = readonly [
  typeof latency,
  typeof throughput,
  typeof sockets,
  typeof nodes,
  typeof traffic,
  typeof collective,
  typeof algorithms,
]

export const sections: Sections = [latency, throughput, sockets, nodes, traffic, collective, algorithms]

/** Saved results of any tool. */
export type Results = ReturnType<Sections[number]['schema']['parse']>

/** Results of one tool, and a set of them. */
export type ToolResults<Tool extends Results['tool']> = Extract<Results, { tool: Tool }>
export type ToolSet<Tool extends Results['tool']> = ToolResults<Tool>['sets'][number]
