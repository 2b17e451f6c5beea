/** The folders that results go to. */
import { existsSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'

/** Removes the raw data and profiles of an earlier run from a folder that is used again: they belong to no set of the new one. */
export function clearTimestamps(dir: string): void {
  if (!existsSync(join(dir, 'run.json'))) return
  for (const name of readdirSync(dir))
    if (/^\d{3,}(\.csv|\.traffic\.json|-(client|server)\.(flame\.json|cpuprofile))$/.test(name)) rmSync(join(dir, name))
}

/** Returns the default directory of results: a dated folder under `results/`, never one that exists. */
export function datedDirectory(tool: string, now: Date = new Date(), root = 'results'): string {
  const two = (value: number) => String(value).padStart(2, '0')
  const day = `${now.getFullYear()}-${two(now.getMonth() + 1)}-${two(now.getDate())}`
  const time = `${two(now.getHours())}${two(now.getMinutes())}${two(now.getSeconds())}`
  const name = join(root, `${day}-${time}-${tool}`)
  let free = name
  for (let n = 2; existsSync(free); n++) free = `${name}-${n}`
  return free
}
