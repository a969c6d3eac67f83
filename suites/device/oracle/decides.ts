/** Maps each difference to the violated requirement; the first matching row decides. */
import type { StreamDifference } from './model.ts';

export type Situation = 'plain' | 'seam' | 'cut' | 'compaction' | 'restart' | 'kill' | 'tear';

export type Way = 'after' | 'header' | 'both' | 'none' | 'future';

export type OtherDifference =
  | 'time of an event'
  | 'payload'
  | 'deployed unasked'
  | 'deployed twice'
  | 'file'
  | 'file left'
  | 'current'
  | 'statuses merged'
  | 'status left'
  | 'current changed'
  | 'id used again'
  | 'not started'
  | 'log emptied';

interface Row {
  what?: readonly (StreamDifference | OtherDifference)[];
  situation?: readonly Situation[];
  way?: readonly Way[];
  filtered?: boolean;
  live?: boolean;
  id: string;
}

export const ROWS: readonly Row[] = [
  { what: ['log emptied'], id: 'device.log.compaction' },
  { what: ['time of an event'], id: 'device.events.envelope' },
  { what: ['payload'], id: 'device.events.payload.deployed' },
  { what: ['deployed unasked', 'deployed twice'], id: 'device.events.deployed-only' },
  { what: ['file'], situation: ['restart', 'kill', 'tear'], id: 'device.deployment.restart' },
  { what: ['file'], id: 'device.events.written-first' },
  { what: ['file left', 'status left'], id: 'device.deployment.removed' },
  { what: ['current', 'current changed'], situation: ['restart', 'kill', 'tear'], id: 'device.deployment.restart' },
  { what: ['current'], id: 'device.deployment.current' },
  { what: ['statuses merged'], id: 'device.deployment.merge' },
  { what: ['current changed'], id: 'device.deployment.safe' },
  { what: ['served though gone', 'refused'], way: ['both'], id: 'device.events.after-wins.expired' },
  { what: ['served though gone'], id: 'device.events.expired.410' },
  { situation: ['tear'], id: 'device.log.torn-tail' },
  { situation: ['kill'], id: 'device.log.crash' },
  { situation: ['restart'], id: 'device.log.restart' },
  { what: ['not served'], filtered: true, id: 'device.events.types' },
  { what: ['not served'], way: ['none'], id: 'device.events.no-cursor.live' },
  { what: ['not served'], way: ['header'], id: 'device.events.header-cursor' },
  { what: ['not served'], id: 'device.events.replay.complete' },
  { what: ['refused'], id: 'device.events.expired.boundary' },
  { what: ['order', 'id used again'], id: 'device.events.monotonic' },
  { what: ['cursor repeated'], way: ['header'], id: 'device.events.header-cursor' },
  { what: ['cursor repeated'], way: ['both'], id: 'device.events.after-wins' },
  { what: ['cursor repeated'], id: 'device.events.replay.exclusive' },
  { way: ['future'], id: 'device.events.replay.exclusive' },
  { what: ['type not asked for'], id: 'device.events.types' },
  { way: ['none'], what: ['missing'], id: 'device.events.no-cursor.live' },
  { filtered: true, what: ['missing', 'invented'], id: 'device.events.types' },
  { situation: ['compaction'], id: 'device.log.compaction' },
  { situation: ['cut'], what: ['missing'], id: 'device.events.at-least-once' },
  { way: ['both'], what: ['missing', 'invented'], id: 'device.events.after-wins' },
  { way: ['header'], what: ['missing', 'invented'], live: false, id: 'device.events.header-cursor' },
  { situation: ['seam'], what: ['missing'], id: 'device.events.replay.seam' },
  { what: ['missing'], live: true, id: 'device.events.concurrent' },
];

interface Where {
  what: StreamDifference | OtherDifference;
  situation: Situation;
  way?: Way | undefined;
  filtered?: boolean;
  live?: boolean;
}

export function decides({ what, situation, way, filtered = false, live = false }: Where): string {
  const row = ROWS.find(
    (one) =>
      (one.what?.includes(what) ?? true) &&
      (one.situation?.includes(situation) ?? true) &&
      (one.way === undefined || (way !== undefined && one.way.includes(way))) &&
      (one.filtered ?? filtered) === filtered &&
      (one.live ?? live) === live,
  );
  return row?.id ?? 'device.events.replay.complete';
}
