/** The built `verbena` command, and whether it has what is tested here. */
import { existsSync } from 'node:fs'
import { command } from '../../built.ts'
import { Program } from './program.ts'

export const verbena: string = command

/** Why ping-pongs of ours cannot be tested; null if they can. */
export async function withoutPingPong(): Promise<string | null> {
  if (!existsSync(verbena)) return `${verbena} is not built: npm run build`
  const help = await run('rc_pingpong', '--help')
  if (help.code !== 0 || !help.stdout.includes('verbena rc_pingpong')) return 'this build has no command rc_pingpong'
  const devices = await run('devices', '--json')
  if (devices.code !== 0 || !/"roce/.test(devices.stdout)) return 'this build has no adapter roce'
  return null
}

function run(...args: string[]): Promise<{ code: number | null; stdout: string }> {
  return new Program(process.execPath, [verbena, ...args], 20_000).ended
}
