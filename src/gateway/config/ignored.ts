/** Settings of VILLASnode that are read and have no effect here, each with the reason. `verbena gateway check` names those it finds. */
import type { SettingsReader } from '../settings.ts'
import type { Notice } from './types.ts'

export const ignored = {
  gateway: {
    hugepages: 'Node.js has the memory of samples; VILLASnode reserved it from the system',
    priority:
      'real-time priorities need privileges, and a thread that polls with one can stop a machine; use affinity, or chrt',
    seed: 'random signals and noise are different in each run',
  },
  logging: {
    syslog: 'lines go to standard error, which systemd puts into its journal',
    expressions: 'there is one level for all lines',
    pattern: 'lines have one layout',
  },
  /** Settings that only older versions of VILLASnode read, or that VILLASnode reads in another place. */
  node: {
    description: 'what VILLASweb shows is not kept here',
    netem: 'it belongs into out, as in VILLASnode, and has no effect there either: use tc',
    samplelen: 'VILLASnode reads it no more; samples have room for all signals',
    series: 'VILLASnode reads it no more; names and units are those of the signals',
    unit: 'VILLASnode reads it no more; each signal has its unit',
  },
  out: {
    netem:
      'delays and losses of the kernel need privileges and belong to an interface; use tc, or the faults of a verbs device',
    fwmark: 'marks of packets need privileges; use nftables',
  },
} as const

/** Takes the ignored settings of a group, and passes a notice for each that is present. */
export function takeIgnored(
  reader: SettingsReader,
  reasons: Readonly<Record<string, string>>,
  notice: (notice: Notice) => void,
  placeOf: (key: string) => string | undefined,
): void {
  // Ignored settings that are absent are not read, so that none of them is suggested to a user who has mistyped another key.
  for (const [key, reason] of Object.entries(reasons))
    if (Object.hasOwn(reader.settings, key) && reader.any(key) !== undefined)
      notice({ place: placeOf(key), key, what: `${key} has no effect: ${reason}` })
}
