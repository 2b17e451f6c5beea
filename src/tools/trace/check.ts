/** `verbena trace check` */
import type { Command } from 'commander'
import { endWith, note, paint, print, printJson } from '../../cli/terminal/index.ts'
import { whole } from '../../text/index.ts'
import { type CheckResult, checkCapture, longestList, problemRules, problemTexts } from '../../trace/index.ts'
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
only the beginning is not bad: its ICRC cannot be checked, and a message reports this. --json prints
  {"packets":…,"roce":…,"icrcValid":…,"icrcInvalid":[…],"malformed":[…]}
where the lists have packet numbers from 1, as tshark's frame.number; each ends after ${whole(longestList)} of them.
Of several files, a list of such documents, each with the name of its "file".

Examples:
  verbena trace check roce.pcap
  verbena trace check before.pcap after.pcap
  ssh host tcpdump -i eth0 -c 100000 -w - udp port 4791 | verbena trace check - --json`

export function configure(command: Command): void {
  readsCapture(command, '<file...>')
    .description('Check every packet of captures by itself.')
    .option('--no-icrc', 'leave the ICRC out: lengths and headers only')
    .option('--json', 'print one JSON document')
    .addHelpText('after', help)
    .action(async (files: string[], options: Options) => {
      const stop = stopOnInterrupt()
      const several = files.length > 1
      const documents: object[] = []
      let isBad = false
      for (const file of files) {
        if (stop.signal.aborted) break
        const result = await checkCapture(captureFile(file), { checkIcrc: options.icrc, ...readingOf(options, stop) })
        mustBeCapture(file, result)
        const { packets, roce, icrcValid, icrcInvalid, malformed } = result
        if (options.json) documents.push({ ...(several && { file }), packets, roce, icrcValid, icrcInvalid, malformed })
        else {
          if (several) print(`${file !== files[0] ? '\n' : ''}${paint('bold', file)}`)
          report(result, options.icrc)
        }
        noteLimits(result, options.json === true)
        noteIfNothing(result)
        noteDamage(result)
        if (stop.signal.aborted) note(`Interrupted after packet ${packets}: the rest of the file was not read.`)
        isBad ||= result.icrcInvalidCount + result.malformedCount + result.damageCount > 0 || roce === 0
      }
      stop.dispose()
      if (options.json) printJson(several ? documents : documents[0])
      endWith(exitCodeOf(stop, isBad))
    })
}

interface Options extends ReadOptions {
  icrc: boolean
  json?: boolean
}

function report(result: CheckResult, icrcChecked: boolean): void {
  const { packets, roce, roceV1, infiniBand, icrcValid, icrcInvalidCount, malformedCount, cut } = result
  const kinds = [roceV1 > 0 ? `${roceV1} RoCEv1` : '', infiniBand > 0 ? `${infiniBand} InfiniBand` : '']
  const of = kinds.filter((text) => text !== '').join(', ')
  print(`packets        ${packets}`)
  print(`RDMA           ${roce}${of === '' ? '' : ` (of these ${of})`}`)
  if (icrcChecked) {
    print(`ICRC valid     ${icrcValid}`)
    print(`ICRC invalid   ${mark(icrcInvalidCount)}${list(result.icrcInvalid)}`)
  }
  print(`malformed      ${mark(malformedCount)}${list(result.malformed)}`)
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
