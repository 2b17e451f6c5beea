/** Which rank a process is, by the variables of each launcher as they were seen. */
import { describe, expect, it } from 'vitest'
import { firstHost } from '../../../src/collectives/launch/host-list.ts'
import { type Environment, type PlaceOptions, placeOf } from '../../../src/collectives/launch/index.ts'
import { meetingPoint, portsOf, type StatOf } from '../../../src/collectives/launch/place.ts'

/** Process 70 is of the session that 60 leads, whose parent is 50, started at 1234. */
const processes: Record<string, string[]> = {
  self: ['69', '60', '60'],
  60: ['50', '60', '60'],
  50: Array.from({ length: 20 }, (_, field) => (field === 18 ? '1234' : '0')),
}
const statOf: StatOf = (pid) => {
  const stat = processes[pid]
  if (!stat) throw new Error(`no process ${pid}`)
  return stat
}
const place = (environment: Environment, options: PlaceOptions = {}) => placeOf({ environment, statOf, ...options })

const openMpi = {
  OMPI_COMM_WORLD_RANK: '3',
  OMPI_COMM_WORLD_SIZE: '8',
  OMPI_COMM_WORLD_LOCAL_SIZE: '8',
  PMIX_NAMESPACE: '319422465',
  PMIX_RANK: '3',
  OMPI_MCA_orte_hnp_uri: '319422464.0;tcp://192.0.2.2:40827',
}
const slurm = {
  SLURM_PROCID: '1',
  SLURM_NTASKS: '4',
  SLURM_JOB_ID: '17',
  SLURM_STEP_ID: '0',
  SLURM_STEP_NUM_NODES: '2',
  SLURM_STEP_NODELIST: 'rack[02-03]-n[007,9]',
}

describe('placeOf', () => {
  it('Open MPI on one host', () => {
    expect(place(openMpi)).toMatchObject({ rank: 3, size: 8, launcher: 'Open MPI', host: '127.0.0.1' })
    expect(place(openMpi).ports).toEqual(place({ ...openMpi, OMPI_COMM_WORLD_RANK: '0' }).ports)
    expect(place(openMpi).ports).not.toEqual(place({ ...openMpi, PMIX_NAMESPACE: '319422466' }).ports)
  })

  it('Open MPI on several hosts has to be told where rank 0 is', () => {
    const several = { ...openMpi, OMPI_COMM_WORLD_LOCAL_SIZE: '4' }
    expect(() => place(several)).toThrow(/Open MPI does not say where rank 0 is: set VERBENA_MEET \(commands: --meet\)/)
    expect(place(several, { meet: 'node1:7000' })).toMatchObject({ rank: 3, size: 8, host: 'node1', ports: [7000] })
  })

  it('Slurm: the first host of the step, another port for each step', () => {
    expect(place(slurm)).toMatchObject({ rank: 1, size: 4, launcher: 'Slurm', host: 'rack02-n007' })
    expect(place({ ...slurm, SLURM_STEP_ID: '1' }).ports).not.toEqual(place(slurm).ports)
    expect(place({ ...slurm, SLURM_STEP_NUM_NODES: '1' }).host).toBe('127.0.0.1')
    expect(() => place({ SLURM_PROCID: '0', SLURM_NTASKS: '4' })).toThrow(/no launcher/)
  })

  it('Hydra on several hosts: the job holds nothing of one host', () => {
    const hydra = { PMI_RANK: '5', PMI_SIZE: '8', MPI_LOCALNRANKS: '4', VERBENA_MEET: 'node1:7000' }
    expect(place(hydra)).toMatchObject({ rank: 5, size: 8, job: 'meet 7000', host: 'node1', ports: [7000] })
  })

  it('mpirun below Slurm counts for itself, and so does Hydra, whose proxies are tasks', () => {
    expect(place({ ...slurm, ...openMpi }).launcher).toBe('Open MPI')
    const hydra = { PMI_RANK: '5', PMI_SIZE: '8', MPI_LOCALNRANKS: '8' }
    expect(place({ ...slurm, ...hydra })).toMatchObject({ rank: 5, size: 8, launcher: 'MPICH', host: '127.0.0.1' })
    expect(place(hydra).job).toBe('hydra 50 1234')
    const leader = (pid: string) => (pid === '60' ? ['0', '60', '60'] : statOf(pid))
    expect(() => place(hydra, { statOf: leader })).toThrow(/MPICH does not say where rank 0 is/)
    expect(place({ ...slurm, PMI_RANK: '1', PMI_SIZE: '4' }).launcher).toBe('Slurm')
  })

  it('Kubernetes: index of the job, the rest by variables', () => {
    const pod = { JOB_COMPLETION_INDEX: '2', VERBENA_SIZE: '4', VERBENA_MEET: 'collective-0.collective' }
    expect(place(pod)).toMatchObject({ rank: 2, size: 4, host: 'collective-0.collective', ports: [18516] })
    expect(() => place({ JOB_COMPLETION_INDEX: '2' })).toThrow(/Kubernetes does not say how many ranks/)
  })

  it('options come first, and a group of one needs no place', () => {
    expect(place(openMpi, { rank: 0, size: 2, meet: 'a:1' })).toMatchObject({ rank: 0, size: 2, host: 'a', ports: [1] })
    expect(place({}, { rank: 0, size: 1 })).toMatchObject({ rank: 0, size: 1, ports: [] })
    expect(() => place({}, { rank: 0, size: 2 })).toThrow(/--meet\) to the host/)
  })

  it.each([
    [{ rank: 4, size: 4 }, /the rank is '4'. Expected a whole number from 0 to 3/],
    [{ rank: -1, size: 4 }, /the rank is '-1'/],
    [{ rank: 0, size: 0 }, /the number of ranks is '0'/],
    [{ rank: 0, size: 1e6 }, /from 1 to 4096/],
  ])('%o is no place', (options, message) => expect(() => place({}, options)).toThrow(message))
})

describe('meetingPoint', () => {
  it('has a host and perhaps a port', () => {
    expect(meetingPoint('[fe80::1]:80')).toEqual({ host: 'fe80::1', port: 80 })
    expect(meetingPoint('node7')).toEqual({ host: 'node7', port: 18516 })
  })
  it.each(['', ':80', 'a:b', 'a:0', 'a:65536', 'fe80::1', 'a b'])('not %o', (text) =>
    expect(() => meetingPoint(text)).toThrow(/no place to meet/),
  )
})

it('ports of a job are different ones, below those of clients', () => {
  const ports = portsOf('slurm 17 0')
  expect(new Set(ports).size).toBe(ports.length)
  for (const port of ports) expect(port >= 20_000 && port < 32_000).toBe(true)
})

it.each([
  ['node7', 'node7'],
  ['a,b', 'a'],
  ['n[3-5,9],m', 'n3'],
  ['rack[2-3]-n[01-16,20],login', 'rack2-n01'],
  ['n[1-', undefined],
  ['', undefined],
])('the first host of %s is %s', (list, host) => expect(firstHost(list)).toBe(host))
