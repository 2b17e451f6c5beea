/** `verbena trace check` */
import type { Command } from 'commander'
import { endWith, note, paint, print, printJson } from '../../cli/terminal/index.ts'
import {
  type CheckResult,
  checkCapture,
  copiesText,
  longestList,
  problemRules,
  problemTexts,
} from '../../trace/index.ts'
import {
  captureFile,
  exitCodeOf,
  mustBeCapture,
  noteDamage,
  noteIfNothing,
  type ReadOptions,
  readingOf,
  readsCapture,
  stopOnInterrupt,
} from '../trace-kit/index.ts'

const help = `
Checked of every RDMA packet: its ICRC (and VCRC, where there is one), and that none of this is true:
${problemRules.map(({ name, text }) => `  ${name.padEnd(16)}${text}`).join('\n')}

Exit code 1 if a packet or the file is damaged, or if there is no RDMA packet at all. A packet of which the capture has
only the beginning is not bad: its ICRC cannot be checked, and a message says so. --json prints
  {"packets":…,"roce":…,"icrcValid":…,"icrcInvalid":[…],"malformed":[…]}
where the lists have packet numbers from 1, as tshark's frame.number; each ends after ${longestList.toLocaleString('en')} of them.

Examples:
  verbena trace check roce.pcap
  ssh host tcpdump -i eth0 -c 100000 -w - udp port 4791 | verbena trace check - --json`

export function configure(command: Command): void {
  readsCapture(command)
    .description('Check every packet of a capture by itself.')
    .option('--no-icrc', 'leave the ICRC out: lengths and headers only')
    .option('--json', 'print one JSON document')
    .addHelpText('after', help)
    .action(async (file: string, options: ReadOptions & { icrc: boolean; json?: boolean }) => {
      const stop = stopOnInterrupt()
      const result = await checkCapture(captureFile(file), { checkIcrc: options.icrc, ...readingOf(options, stop) })
      stop.dispose()
      mustBeCapture(file, result)
      if (options.json) {
        const { packets, roce, icrcValid, icrcInvalid, malformed } = result
        printJson({ packets, roce, icrcValid, icrcInvalid, malformed })
      } else report(result, options.icrc)
      noteLimits(result, options.json === true)
      noteIfNothing(result)
      noteDamage(result)
      if (stop.signal.aborted) note(`Interrupted after packet ${result.packets}: the rest of the file was not read.`)
      const bad = result.icrcInvalidCount + result.malformedCount + result.damageCount > 0
      endWith(exitCodeOf(stop, bad || result.roce === 0))
    })
}

function report(result: CheckResult, icrcChecked: boolean): void {
  const { packets, roce, roceV1, infiniBand, icrcValid, icrcInvalidCount, malformedCount, cut, copies } = result
  const kinds = [roceV1 > 0 ? `${roceV1} RoCEv1` : '', infiniBand > 0 ? `${infiniBand} InfiniBand` : '']
  const of = kinds.filter((text) => text !== '').join(', ')
  print(`packets        ${packets}`)
  print(`RDMA           ${roce}${of === '' ? '' : ` (of these ${of})`}`)
  if (icrcChecked) {
    print(`ICRC valid     ${icrcValid}`)
    print(`ICRC invalid   ${mark(icrcInvalidCount)}${list(result.icrcInvalid)}`)
  }
  print(`malformed      ${mark(malformedCount)}${list(result.malformed)}`)
  if (copies > 0) print(`copies         ${copies} (${copiesText})`)
  if (cut > 0) print(`cut            ${cut} (the capture has only their beginning: the ICRC cannot be checked)`)
  for (const { packet, problems } of result.examples.slice(0, 20))
    print(`  packet ${packet}: ${problemTexts(problems).join('; ')}`)
  if (malformedCount > 20) print('  … `verbena trace show FILE --filter malformed` shows all')
}

function mark(count: number): string {
  return count === 0 ? '0' : paint('red', String(count))
}

function list(numbers: readonly number[]): string {
  if (numbers.length === 0) return ''
  return `: packet${numbers.length === 1 ? '' : 's'} ${numbers.slice(0, 20).join(', ')}${numbers.length > 20 ? ', …' : ''}`
}

function noteLimits({ icrcInvalidCount, malformedCount, cut }: CheckResult, json: boolean): void {
  if (json && Math.max(icrcInvalidCount, malformedCount) > longestList)
    note(
      `Lists end after ${longestList} packets: ${icrcInvalidCount} have a wrong ICRC, ${malformedCount} are malformed.`,
    )
  if (json && cut > 0) note(`${cut} packets are cut by the capture: their ICRC could not be checked.`)
}
