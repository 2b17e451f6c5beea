/** Errors of a configuration or a distribution, with their place. */

/** Codes with the situation in which each is thrown. */
export const trafficErrors = {
  ERR_TRAFFIC_CDF: 'a distribution of sizes cannot be read: a value falls, is no number, or the last one is not 100 %',
  ERR_TRAFFIC_CONFIGURATION: 'a configuration cannot be read, or a setting in it is wrong',
  ERR_TRAFFIC_MERGE: 'results of several clients do not belong together: other configurations, or one client twice',
} as const

export type TrafficErrorCode = keyof typeof trafficErrors

export class TrafficError extends Error {
  override readonly name = 'TrafficError'
  readonly code: TrafficErrorCode

  constructor(code: TrafficErrorCode, message: string) {
    super(message)
    this.code = code
  }
}
