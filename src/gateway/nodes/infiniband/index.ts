/** The node-type `infiniband`: samples by RDMA, through the RDMA CM of any verbs device. */
import type { NodeType } from '../../index.ts'
import { startNode } from './node.ts'
import { checkLength, readSettings } from './settings.ts'

export const infiniband: NodeType = {
  name: 'infiniband',
  is: 'RDMA: reliable and unreliable connections, and datagrams, on any verbs device',
  parse(settings, common) {
    const read = readSettings(settings, common)
    return {
      signals: common.signals,
      reads: true,
      writes: true,
      // Both directions are one connection.
      splits: false,
      keeps: read.in.maxWrs + read.out.maxWrs + read.in.vectorize + read.out.vectorize,
      memory: read.device,
      check: (signals, directions) => checkLength(settings, read, directions.out ? signals.out.length : 0),
      start: async (context, directions) => startNode(read, context, directions),
    }
  },
}
