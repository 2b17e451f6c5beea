/** Code of the commands whose ranks are processes: their start, the rank that prints, and their devices and cores. */
export { addLaunchOptions, type LaunchOptions, obey, withRanks } from './launch.ts'
export { deviceNames, placeRanks, ranksHere, tell } from './place.ts'
