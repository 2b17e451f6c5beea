/**
 * Distributions of sizes that papers and simulators use, by name. Rows are those of the files that the sources publish; three are thinned,
 * and name the rule between their rows by which at most 0.6 points are lost.
 */
import { Cdf, type Interpolation } from './cdf.ts'

interface Preset {
  name: string
  /** Names of files that contain the same table, without their extensions. */
  aliases: readonly string[]
  interpolation: Interpolation
  /** Publication, and the traffic that was measured. */
  source: string
  /** Rows of bytes and per cent. */
  rows: string
}

const table: readonly Preset[] = [
  {
    name: 'WebSearch',
    aliases: ['DCTCP', 'DCTCP_CDF', 'WebSearch_distribution'],
    interpolation: 'linear',
    source: 'HPCC, HKUST: web search',
    rows:
      '0:0 10000:15 20000:20 30000:30 50000:40 80000:53 200000:60 1000000:70 2000000:80 5000000:90\n' +
      '10000000:97 30000000:100',
  },
  {
    name: 'FbHdp',
    aliases: ['FbHdp_distribution'],
    interpolation: 'linear',
    source: 'HPCC: Hadoop at Facebook, 20 rows',
    rows:
      '0:0 100:1 200:2 300:5 350:15 400:20 500:30 600:40 700:50 1000:60 2000:67 7000:70 30000:72 50000:82\n' +
      '80000:87 120000:90 300000:95 1000000:97.5 2000000:99 10000000:100',
  },
  {
    name: 'AliStorage2019',
    aliases: [],
    interpolation: 'linear',
    source: 'HPCC: block storage at Alibaba',
    rows: '0:0 4000:22.93 8000:69.21 16000:80.61 32000:90.47 64000:93.53 128000:96.77 256000:97.53 2000000:100',
  },
  {
    name: 'Solar2022',
    aliases: [],
    interpolation: 'linear',
    source: 'ConWeave: storage over Solar at Alibaba',
    rows: '0:0 4095:0.001 4096:30 16383:35 16384:50 65535:60 65536:95 262144:100',
  },
  {
    name: 'GoogleRPC2008',
    aliases: ['Google_AllRPC'],
    interpolation: 'inverse',
    source: 'HPCC, Homa: all RPCs of a Google data centre, thinned',
    rows:
      '0:0 3:6.48826 32:9.73239 64:15.5271 128:35.1573 256:49.7901 512:78.4921 1024:86.32 2048:90.8862\n' +
      '4096:93.4955 8192:96.4309 16384:98.4694 32768:99.0402 65536:99.3256 131072:99.7129 262144:99.8453\n' +
      '524288:99.9498 1027982:99.9753 1563315:99.9844 2394689:99.9904 5114695:99.9965 11837511:99.9995\n' +
      '15158197:100',
  },
  {
    name: 'FbHdp2015',
    aliases: ['Facebook_HadoopDist_All'],
    interpolation: 'log',
    source: 'HPCC, Homa: Hadoop at Facebook, thinned',
    rows:
      '0:0 53:0.074 217:1.49 300:5.2 326:13.75 365:18.958 376:20.26 425:22.3 480:26.39 600:45.91 737:55.2\n' +
      '800:57.62 885:59.12 1534:64.68 1664:66.73 7830:70.82 31946:72.12 37146:73.143 44260:75.84 51046:81.6\n' +
      '70722:83.27 75180:84.2 81565:87.17 288520:95.35 2169120:98.7 10000000:100',
  },
  {
    name: 'VL2',
    aliases: ['VL2_CDF', 'DataMining'],
    interpolation: 'linear',
    source: 'HKUST: data mining',
    rows:
      '0:0 180:10 216:20 560:30 900:40 1100:50 1870:60 3160:70 10000:80 400000:90 3160000:95 100000000:98\n' +
      '1000000000:100',
  },
  {
    name: 'FacebookKeyValue',
    aliases: ['FB_CDF'],
    interpolation: 'linear',
    source: 'HKUST: key-value store at Facebook',
    rows:
      '0:0 3:28 10:32 12:44 75:50 250:75 350:90 1000:96.5 2515:98 6326:99 10032:99.5 15910:99.7 23009:99.92\n' +
      '24094:99.96 25000:99.99 100000:99.999 1000000:100',
  },
  {
    name: 'CacheFollower',
    aliases: [],
    interpolation: 'linear',
    source: 'ConWeave: cache followers at Facebook',
    rows:
      '70:0 70:1 150:1.5 150:4 300:8 350:10 350:19 450:20 500:28 600:30 700:35 1100:40 2000:42 10000:48\n' +
      '30000:50 100000:52 200000:60 400000:68 600000:70 1500000:70.1 2000000:80 2400000:90 3000000:100',
  },
  {
    name: 'WebServer',
    aliases: [],
    interpolation: 'linear',
    source: 'ConWeave: web servers at Facebook',
    rows:
      '150:0 300:12 300:20 600:20 1000:30 2000:40 3100:50 6000:60 20000:71 60000:80 150000:82 300000:90\n' +
      '500000:100',
  },
  {
    name: 'Mining',
    aliases: [],
    interpolation: 'linear',
    source: 'ConWeave: data mining',
    rows: '100:0 10000:80 152522:83.46 390541:90 3223542:95.3846 100000000:99 1000000000:100',
  },
  {
    name: 'Search',
    aliases: [],
    interpolation: 'linear',
    source: 'ConWeave: web search',
    rows:
      '9000:0 9000:15 18582:20 28140:30 38913:40 77468:53 200000:60 1000000:70 2000000:80 5000000:90\n' +
      '10000000:97 30000000:100',
  },
  {
    name: 'GoogleSearchRPC',
    aliases: ['SearchRPC'],
    interpolation: 'log',
    source: 'Homa: RPCs of web search at Google, thinned',
    rows:
      '2:7.56 3:13.23 4:15.12 8:17.01 32:18.90 49:28.52 64:32.64 128:34.17 183:41.50 256:46.38 284:55.32\n' +
      '341:68.71 427:82.11 512:91.04 731:93.90 1463:97.19 4096:99.53 3529904:100',
  },
]

export interface PresetInfo {
  name: string
  aliases: readonly string[]
  source: string
}

/** Presets, in the order in which they are listed. */
export const presets: readonly PresetInfo[] = table.map(({ name, aliases, source }) => ({ name, aliases, source }))

const made = new Map<string, Cdf>()

/** Returns the distribution of a preset, by its name or an alias, in any case of letters; undefined if there is none. */
export function presetCdf(name: string): Cdf | undefined {
  const wanted = name.toLowerCase()
  const preset = table.find((entry) => [entry.name, ...entry.aliases].some((known) => known.toLowerCase() === wanted))
  if (preset === undefined) return undefined
  let cdf = made.get(preset.name)
  if (cdf === undefined) {
    cdf = Cdf.parse(preset.rows.replaceAll(' ', '\n'), preset.name, preset.interpolation)
    made.set(preset.name, cdf)
  }
  return cdf
}
