/** Messages between `run` and the process that it starts. */

export interface ChildSettings {
  readonly program: string
  readonly args: readonly string[]
  readonly devices: readonly string[]
  readonly names: readonly string[]
  readonly explain: boolean
  readonly trace: boolean
  readonly counters: boolean
  readonly strict: boolean
}

/** The descriptor on which the process writes records, one a line. */
export const recordsDescriptor = 3

/** Message that requests the process to end the program and all its descendants. */
export const endMessage = 'end'

export type ChildMessage =
  | { readonly kind: 'started'; readonly pid: number }
  | { readonly kind: 'failed'; readonly code: string; readonly message: string }
