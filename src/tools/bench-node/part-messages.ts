/** Messages between this process and one with a part of a run. */
import type { PartOptions, PartStatus } from './part.ts'

export type ToPart = ({ readonly kind: 'start' } & PartOptions) | { readonly kind: 'ask' | 'release' | 'stop' }

export type FromPart =
  | { readonly kind: 'log'; readonly line: string }
  | { readonly kind: 'started' | 'status' | 'stopped'; readonly status: PartStatus }
  /** Failure: the part cannot start. */
  | { readonly kind: 'failed'; readonly message: string }
