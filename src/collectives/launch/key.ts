/**
 * Secret that the ranks of a user have and strangers do not. The ranks prove to each other that they know it, and it never crosses
 * the network. In this order: VERBENA_KEY; the random key that Open MPI gives to all ranks of a job; a file in the user's home, made
 * by the first rank that needs it, which the ranks of other hosts have if they share the home.
 */
import { createHash, randomBytes } from 'node:crypto'
import { linkSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { homedir, userInfo } from 'node:os'
import { join } from 'node:path'
import { GroupError } from './error.ts'
import type { Environment } from './place.ts'

/** Minimum number of characters of a key text: all shorter ones can be tried. */
const fewestCharacters = 16

/** Returns 32 bytes. Throws GroupError ERR_GROUP_KEY. */
export function groupKey(environment: Environment = process.env): Buffer {
  const given = environment.VERBENA_KEY ?? environment.OMPI_MCA_orte_precondition_transports
  if (given === undefined) return digest(keyFromFile(keyFile(environment)))
  const name = environment.VERBENA_KEY === undefined ? 'OMPI_MCA_orte_precondition_transports' : 'VERBENA_KEY'
  if (given.length < fewestCharacters)
    throw new GroupError(
      'ERR_GROUP_KEY',
      `${name} has fewer than ${fewestCharacters} characters: set VERBENA_KEY to random ones, for example of \`openssl rand -hex 16\``,
    )
  return digest(given)
}

function keyFile({ XDG_CONFIG_HOME: config, HOME: home }: Environment): string {
  return join(config || join(home || homedir(), '.config'), 'verbena', 'group-key')
}

function keyFromFile(file: string): string {
  try {
    makeFile(file)
    const { uid, mode } = statSync(file)
    if (uid !== userInfo().uid || (mode & 0o77) !== 0)
      throw new GroupError(
        'ERR_GROUP_KEY',
        `${file} belongs to another user, or others may use it: chmod 600 ${file}, or set VERBENA_KEY`,
      )
    const key = readFileSync(file, 'latin1').trim()
    if (key.length >= fewestCharacters) return key
    throw new GroupError('ERR_GROUP_KEY', `${file} holds no key: remove it, or set VERBENA_KEY`)
  } catch (error) {
    if (error instanceof GroupError) throw error
    throw new GroupError(
      'ERR_GROUP_KEY',
      `the key of groups cannot be kept in ${file} (${(error as NodeJS.ErrnoException).code}): set VERBENA_KEY to the same random text at all ranks`,
    )
  }
}

/** Creates the file atomically: ranks that start at the same time find the same, complete file. */
function makeFile(file: string): void {
  if (statSync(file, { throwIfNoEntry: false })) return
  mkdirSync(join(file, '..'), { recursive: true, mode: 0o700 })
  const own = `${file}.${process.pid}.${randomBytes(4).toString('hex')}`
  writeFileSync(own, `${randomBytes(32).toString('hex')}\n`, { mode: 0o600, flag: 'wx' })
  try {
    linkSync(own, file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    rmSync(own)
  }
}

function digest(text: string): Buffer {
  return createHash('sha256').update(`verbena group ${text}`).digest()
}
