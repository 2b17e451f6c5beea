/** Numbers and IP addresses as people write them. Pure. */

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
