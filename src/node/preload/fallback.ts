/** `verbena:net:fallback` of `node:diagnostics_channel`: a connection that has a rule for RDMA goes over TCP (docs/reference/channels.md). */
import { channel } from 'node:diagnostics_channel'
import type { Rule } from './rules.ts'

const fallback = channel('verbena:net:fallback')

/** Reasons: RDMA failed, was not answered in time, or was not answered by this address a short while ago. */
export const fallbackReasons = ['failed', 'silent', 'silent-before'] as const
export type FallbackReason = (typeof fallbackReasons)[number]

/** Message that is published at once, in the thread that connects. */
export interface FallbackMessage {
  /** Host as the program has named it. */
  host: string
  port: number
  /** Rule of VERBENA_PRELOAD. */
  rule: string
  reason: FallbackReason
  /** Reason in words, for people. */
  text: string
}

export function reportFallback(host: string, port: number, rule: Rule, reason: FallbackReason, text: string): void {
  if (!fallback.hasSubscribers) return
  const message: FallbackMessage = { host, port, rule: rule.text, reason, text }
  fallback.publish(message)
}
