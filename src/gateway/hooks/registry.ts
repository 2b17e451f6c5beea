/** The hooks by name, as VILLASnode calls them. */
import type { HookType } from './hook.ts'

export const hookTypes: Readonly<Record<string, HookType>> = {}
