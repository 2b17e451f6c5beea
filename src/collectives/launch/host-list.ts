/** Slurm's lists of hosts: `node7`, `a,b`, `rack[2-3]-n[01-16,20],login`. */

/**
 * Returns the first host of a list, with the leading zeros of a range; undefined if the text is not a list. Reads only as much of it as the
 * first host needs.
 */
export function firstHost(list: string): string | undefined {
  const match = /^((?:[^\s,[\]]|\[\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*\])+)(?:,|$)/.exec(list.trim())
  return match?.[1]?.replace(/\[(\d+)[^\]]*\]/g, '$1')
}
