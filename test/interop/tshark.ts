/** tshark as a judge: fields of each packet of a capture. */
import { spawnSync } from 'node:child_process'
import { wireLabel } from '../trace/encapsulate.ts'

export const tsharkVersion: string | undefined = (() => {
  const { status, stdout } = spawnSync('tshark', ['--version'], { encoding: 'utf8' })
  return status === 0 ? stdout.split('\n')[0] : undefined
})()

/** A map for each packet, of the fields that it has; several values of a field are joined with commas. */
export function tsharkFields(file: string, fields: readonly string[]): Map<string, string>[] {
  const args = ['-r', file, '-T', 'fields', '-E', 'separator=|', '-E', 'occurrence=a', '-o', 'ip.defragment:false']
  args.push('-d', `mpls.label==${wireLabel},pwethcw`)
  const result = spawnSync('tshark', [...args, ...fields.flatMap((field) => ['-e', field])], {
    encoding: 'utf8',
    maxBuffer: 1 << 28,
  })
  if (result.status !== 0) throw new Error(`tshark ended with ${result.status}: ${result.stderr}`)
  return result.stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const values = line.split('|')
      return new Map(fields.map((field, i) => [field, values[i] ?? ''] as const).filter(([, value]) => value !== ''))
    })
}
