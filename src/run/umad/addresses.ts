/** Addresses of MADs: conversion between the header of programs and the addresses of QP 1. */
import { type MadAddress, madAddress } from '../../gsi/index.ts'
import type { AhAttr } from '../../verbs/index.ts'
import { gsiQkey } from '../../verbs/provider/index.ts'
import { u32 } from '../../wire/index.ts'
import type { Sender } from './agent.ts'
import type { UserMad } from './structs.ts'

const noGid = new Uint8Array(16)
/** Offset of the sender's GID in a GRH. */
const sourceGidAt = 8
const gidBytes = 16

/** Returns the destination of a program's MAD. */
export function destinationOf(header: UserMad): MadAddress {
  const { lid, sl, pathBits, gid, gidIndex, hopLimit, trafficClass, flowLabel, qpn, qkey } = header
  const hasGrh = header.grhPresent !== 0
  const path: AhAttr = { dlid: lid, sl: sl & 15, srcPathBits: pathBits & 0x7f, portNum: 1 }
  if (hasGrh) path.grh = { dgid: gid, sgidIndex: gidIndex, hopLimit, trafficClass, flowLabel: flowLabel & 0xfffff }
  return addressOf(path, qpn & 0xffffff, qkey)
}

/** Returns the address for a reply to the sender of a MAD. */
export function replyAddress({ lid, sl, qpn, grh }: Sender): MadAddress {
  const path: AhAttr = { dlid: lid, sl, portNum: 1 }
  if (grh !== null) {
    const { gid, flowLabel, trafficClass } = grhFields(grh)
    path.grh = { dgid: gid, sgidIndex: 0, hopLimit: 64, trafficClass, flowLabel }
  }
  return addressOf(path, qpn, gsiQkey)
}

function addressOf(path: AhAttr, qpn: number, qkey: number): MadAddress {
  const { dlid = 0, sl, srcPathBits = 0, grh } = path
  const gid = grh?.dgid ?? noGid
  const base = madAddress(gid, dlid, grh?.sgidIndex ?? 0)
  const route = grh === undefined ? '' : `${grh.hopLimit}/${grh.trafficClass}/${grh.flowLabel}`
  return { ...base, key: `${dlid}/${sl}/${srcPathBits}/${base.key}/${route}`, path, qpn, qkey }
}

/** Returns the fields of a header that describe the sender of a MAD. */
export function senderFields({ lid, qpn, sl, pkeyIndex, grh }: Sender): Partial<UserMad> {
  const fields = { lid, qpn, sl, pkeyIndex }
  return grh === null ? fields : { ...fields, grhPresent: 1, gidIndex: 0, ...grhFields(grh) }
}

function grhFields(grh: Uint8Array): { gid: Uint8Array; hopLimit: number; trafficClass: number; flowLabel: number } {
  const first = u32(grh, 0)
  return {
    gid: grh.slice(sourceGidAt, sourceGidAt + gidBytes),
    hopLimit: grh[7]!,
    trafficClass: (first >>> 20) & 0xff,
    flowLabel: first & 0xfffff,
  }
}
