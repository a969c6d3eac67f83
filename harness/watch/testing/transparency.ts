import { join } from 'node:path';
import fc from 'fast-check';
import { expect } from 'vitest';
import { scratch } from '../../../simulators/common/testing/scratch.ts';
import { ConnectionReader } from '../connection-reader.ts';
import { type Place, Relay, type Tap } from '../relay.ts';
import { anyScript, Stage } from './transcripts.ts';

function reading(faults: unknown[]): Tap {
  const readers = new Map<number, ConnectionReader>();
  let exchanges = 0;
  const number = (): number => ++exchanges;
  return {
    opened: (connection) => void readers.set(connection, new ConnectionReader({ connection, number, take: () => {} })),
    bytes: (connection, from, piece) => readers.get(connection)?.bytes(from, piece, 0),
    ended: (connection, from, how) => readers.get(connection)?.ended(from, how, 0),
    refused: () => {},
    fail: (error) => void faults.push(error),
  };
}

const PLACES = {
  'unix sockets': (folder: string, name: string): Place => ({ path: join(folder, name) }),
  ports: (): Place => ({ host: '127.0.0.1', port: 0 }),
} as const;
type Kind = keyof typeof PLACES;
export const KINDS = Object.keys(PLACES) as Kind[];

export async function expectTransparent(kind: Kind, runs: number): Promise<void> {
  using home = scratch();
  const [far, near] = [PLACES[kind](home.path, 'far'), PLACES[kind](home.path, 'near')];
  await using stage = await Stage.open(far);
  const real = 'path' in far ? far : { ...far, port: stage.port };
  const faults: unknown[] = [];
  const upstream = () => ({ place: real });
  await using relay = await Relay.open({ listen: near, upstream, tap: reading(faults) });
  const through = 'path' in near ? near : { ...near, port: relay.port };
  await fc.assert(
    fc.asyncProperty(anyScript, async (script) => {
      const direct = await stage.play(script, real);
      expect(await stage.play(script, through)).toEqual(direct);
    }),
    { numRuns: runs },
  );
  expect(faults).toEqual([]);
}
