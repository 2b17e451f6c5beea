/** State of the reading of a configuration: what is known beforehand, and the errors and notices that were found. */
import { GatewayError } from '../errors.ts'
import type { PlaceOf, Settings } from '../settings.ts'
import type { Notice } from './types.ts'

export interface Reading {
  readonly placeOf: PlaceOf
  /** Returns a UUID that is always the same for the same text in the same name space. */
  uuidOf(space: string, text: string): string
  /** UUIDs of an earlier configuration, for settings that have none. */
  readonly known?: KnownUuids
  readonly errors: GatewayError[]
  readonly notices: Notice[]
}

export interface KnownUuids {
  readonly gateway: string
  /** UUID of each path of the list; undefined for a new path. */
  readonly paths: readonly (string | undefined)[]
}

/** Runs a part of the reading; an error in it is kept, and the other parts are read in any case. */
export function attempt<T>(reading: Reading, part: () => T): T | undefined {
  try {
    return part()
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    reading.errors.push(error)
    return undefined
  }
}

export function notice(reading: Reading, settings: Settings, key: string, what: string): void {
  reading.notices.push({ place: reading.placeOf(settings, key), key, what })
}
