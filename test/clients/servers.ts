/** The servers of Debian that clients of others talk to, each with its data in a folder of its own. They know nothing of RDMA. */
import { execFileSync } from 'node:child_process'
import { chownSync, existsSync, mkdirSync, readdirSync } from 'node:fs'
import { freeTcpPort } from '../gateway/nodes/ports.ts'
import { Daemon, hasCommand } from '../interop/gateway/daemon.ts'

export interface Peer {
  readonly port: number
  stop(): Promise<void>
}

export interface Kind {
  readonly name: string
  /** Whether this host has it; says so if not. */
  present(): boolean
  start(): Promise<Peer>
}

const postgresVersions = '/usr/lib/postgresql'
const binaries = (): string =>
  existsSync(postgresVersions) ? `${postgresVersions}/${readdirSync(postgresVersions).sort().at(-1)}/bin` : ''

/** Neither PostgreSQL nor MariaDB runs as root: they get users that Debian's packages made, and own their folder. */
function owned(daemon: Daemon, user: string): { folder: string; as: string[] } {
  const folder = `${daemon.folder}/data`
  mkdirSync(folder)
  if (process.getuid!() !== 0) return { folder, as: [] }
  const number = (flag: string): number => Number(execFileSync('id', [flag, user], { encoding: 'utf8' }))
  for (const path of [daemon.folder, folder]) chownSync(path, number('-u'), number('-g'))
  return { folder, as: ['runuser', '-u', user, '--'] }
}

function run([command, ...parameters]: string[]): void {
  execFileSync(command!, parameters, { stdio: 'pipe' })
}

async function running(daemon: Daemon, port: number, parameters: readonly string[]): Promise<Peer> {
  await daemon.start(parameters)
  return { port, stop: () => daemon.stop() }
}

export const kinds: Readonly<Record<string, Kind>> = {
  pg: {
    name: 'PostgreSQL',
    present: () => hasCommand(`${binaries()}/postgres`, 'postgresql'),
    async start() {
      const port = await freeTcpPort()
      const daemon = new Daemon('env', port)
      const { folder, as } = owned(daemon, 'postgres')
      run([...as, `${binaries()}/initdb`, '-D', folder, '-A', 'trust', '-U', 'postgres', '--no-sync'])
      const listens = ['-c', `listen_addresses=0.0.0.0`, '-c', `unix_socket_directories=${folder}`, '-c', 'fsync=off']
      // Clients under the preload may come from any address of this host.
      run([...as, 'sh', '-c', `echo 'host all all 127.0.0.0/8 trust' >> ${folder}/pg_hba.conf`])
      return await running(daemon, port, [...as, `${binaries()}/postgres`, '-D', folder, '-p', `${port}`, ...listens])
    },
  },
  mysql: {
    name: 'MariaDB',
    present: () => hasCommand('mariadbd', 'mariadb-server'),
    async start() {
      const port = await freeTcpPort()
      const daemon = new Daemon('env', port)
      const { folder, as } = owned(daemon, 'mysql')
      run([
        'mariadb-install-db',
        '--no-defaults',
        `--datadir=${folder}`,
        '--skip-test-db',
        ...(as.length > 0 ? ['--user=mysql'] : []),
      ])
      const first =
        "create database test; create user tester@'%' identified by 'secret'; grant all on *.* to tester@'%';"
      const settings = [`--datadir=${folder}`, `--socket=${folder}/socket`, `--port=${port}`, '--bind-address=0.0.0.0']
      const file = daemon.write('first.sql', first.replaceAll('; ', ';\n'))
      const mariadbd = ['mariadbd', '--no-defaults', ...settings, `--init-file=${file}`, `--pid-file=${folder}/pid`]
      return await running(daemon, port, [...as, ...mariadbd, '--skip-name-resolve', '--max-allowed-packet=16M'])
    },
  },
  redis: {
    name: 'Redis',
    present: () => hasCommand('redis-server', 'redis-server'),
    async start() {
      const port = await freeTcpPort()
      const daemon = new Daemon('redis-server', port)
      return await running(daemon, port, [
        '--port',
        `${port}`,
        '--bind',
        '0.0.0.0',
        '--protected-mode',
        'no',
        '--save',
        '',
      ])
    },
  },
  mqtt: {
    name: 'Mosquitto',
    present: () => hasCommand('mosquitto', 'mosquitto'),
    async start() {
      const port = await freeTcpPort()
      const daemon = new Daemon('mosquitto', port)
      const file = daemon.write('mosquitto.conf', `listener ${port} 0.0.0.0\nallow_anonymous true\n`)
      return await running(daemon, port, ['-c', file])
    },
  },
}
