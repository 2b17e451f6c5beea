/** Numbers as people read them, IP addresses as they write them, and the sentence about a value that is not valid. Pure. */

export { fixed, significant, threeDigits, whole } from './digits.ts'
export { parseIp } from './ip-address.ts'
export {
  bitText,
  byteText,
  countText,
  exactSizeText,
  exactTimeText,
  percentText,
  rateText,
  scaled,
  scaledShort,
  shareText,
  shortPercentText,
  shortSizeText,
  shortTimeText,
  sizeText,
  spanText,
  timeText,
  timeUnits,
} from './quantities.ts'
export { inUnits, type Unit, unitOf } from './units.ts'
