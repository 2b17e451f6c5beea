/** What the commands share whose ranks are processes: how they are started, who speaks, and where they run. */
export { addLaunchOptions, type LaunchOptions, obey, withRanks } from './launch.ts'
export { deviceNames, placeRanks, ranksHere, tell } from './place.ts'
