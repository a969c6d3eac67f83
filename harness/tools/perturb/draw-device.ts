/** Draws a random change of a Device API's answers by a seed. */
import type { Random } from '../../../simulators/common/random.ts';
import { deployedPayload, deploymentFields, eventEnvelope } from '../../contract/device-api.ts';
import { DEPLOYMENT_ACTIVITY_STATUSES, EVENT_TYPES } from '../../contract/enums.ts';
import { type Cell, type Drawn, type Kind, kindsOf, sometimes } from './perturbation.ts';

const CONNECTIONS = ['new', 'kept'] as const;
const CURSORS = ['none', 'query', 'header', 'both'] as const;
const WITH_CURSOR = ['query', 'header', 'both'] as const;
const ENVELOPE = Object.keys(eventEnvelope.schema.properties);
const PAYLOAD = Object.keys(deployedPayload.schema.properties);

export function deviceChange(chance: Random): Drawn {
  const share = chance.next();
  if (share < 0.25) return currentChange(chance);
  return share < 0.45 ? requestChange(chance) : eventChange(chance);
}

function currentChange(chance: Random): Drawn {
  const cell: Cell = {
    operation: 'GET /deployments/current',
    connection: sometimes(chance, 0.15, CONNECTIONS),
    restarted: sometimes(chance, 0.2, [true]),
    activity: sometimes(chance, 0.4, DEPLOYMENT_ACTIVITY_STATUSES),
  };
  if (chance.chance(0.15)) {
    const kind = chance.pick(kindsOf('status'));
    if (kind === 'media') return { kind, cell };
    return { kind, cell, value: kind === 'refused' ? chance.pick(['404', '500']) : '203' };
  }
  if (chance.chance(0.1)) return { kind: 'stale', cell };
  const name = chance.pick(Object.keys(deploymentFields));
  const last = name === 'created_at' ? 'shifted' : 'altered';
  const kinds: readonly Kind[] = ['dropped', 'null', 'retyped', 'altered', last];
  return { kind: chance.pick(name === 'object' ? kinds : [...kinds, 'stale']), cell, path: [name] };
}

function streamCell(chance: Random): Cell {
  const operation = 'GET /events';
  const stream = sometimes(chance, 0.2, [1, 2, 3, 5]);
  if (stream !== undefined) return { operation, stream };
  return {
    operation,
    cursor: sometimes(chance, 0.25, CURSORS),
    typed: sometimes(chance, 0.15, [true, false]),
    restarted: sometimes(chance, 0.12, [true]),
    connection: sometimes(chance, 0.08, CONNECTIONS),
  };
}

function requestChange(chance: Random): Drawn {
  const requests = kindsOf('request').filter((each) => !['body-lost', 'other-version'].includes(each));
  const kind = chance.pick([...requests, 'refused', 'media'] as const);
  const { cursor, typed, ...cell } = streamCell(chance);
  switch (kind) {
    case 'query-lost': {
      const value = chance.pick(['after', 'types']);
      const own = value === 'after' ? sometimes(chance, 0.4, ['query', 'both'] as const) : undefined;
      return { kind, cell: { ...cell, cursor: own }, value };
    }
    case 'types-cut':
      return { kind, cell };
    case 'header-lost':
      return { kind, cell: { ...cell, typed, cursor: 'header' } };
    case 'cursor-inclusive':
      return { kind, cell: { ...cell, typed, cursor: sometimes(chance, 0.4, WITH_CURSOR) } };
    case 'let-through':
      // Applies to any stream, because the first streams meet no expired cursor.
      return { kind, cell: { operation: 'GET /events', cursor: sometimes(chance, 0.6, WITH_CURSOR) } };
    default: {
      const value = kind === 'refused' ? chance.pick(['410', '500', '404']) : undefined;
      const own = value === '410' ? sometimes(chance, 0.4, WITH_CURSOR) : cursor;
      return { kind, cell: { ...cell, typed, cursor: own }, value };
    }
  }
}

function eventPath(chance: Random, kind: Kind): string[] {
  if (kind === 'shifted') return chance.chance(0.7) ? ['occurred_at'] : ['data', 'deployed_at'];
  if (kind === 'foreign') return ['data', chance.pick(['deployment_id', 'release_id'])];
  const names = kind === 'altered' ? ENVELOPE.filter((name) => name !== 'data') : ENVELOPE;
  return chance.chance(0.5) ? [chance.pick(names)] : ['data', chance.pick(PAYLOAD)];
}

function eventChange(chance: Random): Drawn {
  const { cursor, ...stream } = streamCell(chance);
  const isFrame = chance.chance(0.5);
  const kind = chance.pick(isFrame ? kindsOf('frame') : kindsOf('member').filter((each) => each !== 'stale'));
  if (kind === 'heartbeat-lost') return { kind, cell: { ...stream, cursor } };
  const phase = sometimes(chance, 0.5, ['replay', 'live'] as const);
  const places: readonly (number | 'last')[] = phase === 'replay' ? [1, 2, 'last', 'last'] : [1, 2, 3];
  const cell: Cell = {
    ...stream,
    // Allows the cursor `none` only for live events, because a stream without a cursor need not replay events.
    cursor: phase === 'live' || cursor !== 'none' ? cursor : undefined,
    phase,
    place: sometimes(chance, 0.4, places),
    type: sometimes(chance, 0.2, EVENT_TYPES),
  };
  if (isFrame) return { kind, cell };
  const path = eventPath(chance, kind);
  // Limits some changes to `deployment.deployed`, because the payload of `deployment.removed` is unspecified.
  const isWide = phase === undefined && stream.stream === undefined;
  const isDeployed = path[1] === 'deployed_at' || (path.length > 1 && isWide);
  return { kind, cell: isDeployed ? { ...cell, type: 'deployment.deployed' } : cell, path };
}
