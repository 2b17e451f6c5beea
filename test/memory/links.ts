/** A network interface of a host that a test makes up. */
import type { HostLink } from '../../src/memory/index.ts'

export const link = (ifindex: number, name: string, more: Partial<HostLink> = {}): HostLink => ({
  ifindex,
  name,
  mtuBytes: 1500,
  mac: '',
  loopback: name === 'lo',
  up: true,
  running: true,
  ...more,
})
