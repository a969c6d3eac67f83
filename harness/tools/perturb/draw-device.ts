/** Draws a perturbation of a Device API. */
import type { Random } from '../../../simulators/common/random.ts';
import { defined } from '../../common/defined.ts';
import { deployedPayload, deploymentFields, eventEnvelope } from '../../contract/device-api.ts';
import { DEPLOYMENT_ACTIVITY_STATUSES, EVENT_TYPES } from '../../contract/enums.ts';
import { type Cell, type Drawn, type Kind, kindsOf, maybe } from './perturbation.ts';

export function deviceChange(chance: Random): Drawn {
  const share = chance.next();
  if (share < 0.25) return currentChange(chance);
  return share < 0.45 ? requestChange(chance) : eventChange(chance);
}

function currentChange(chance: Random): Drawn {
  const cell = defined({
    operation: 'GET /deployments/current',
    connection: maybe(chance, 0.15, ['new', 'kept'] as const),
    restarted: maybe(chance, 0.2, [true]),
    activity: maybe(chance, 0.4, DEPLOYMENT_ACTIVITY_STATUSES),
  });
  if (chance.chance(0.15)) {
    const kind = chance.pick(kindsOf('status'));
    const value = kind === 'refused' ? chance.pick(['404', '500']) : kind === 'status' ? '203' : undefined;
    return { kind, cell, ...defined({ value }) };
  }
  if (chance.chance(0.1)) return { kind: 'stale', cell };
  const name = chance.pick(Object.keys(deploymentFields));
  const kinds: readonly Kind[] = [
    'dropped',
    'null',
    'retyped',
    'altered',
    name === 'created_at' ? 'shifted' : 'altered',
  ];
  return { kind: chance.pick(name === 'object' ? kinds : [...kinds, 'stale']), cell, path: [name] };
}

const CURSORS = ['none', 'query', 'header', 'both'] as const;

/** What a stream is asked for, and when; or which one it is. */
function streamCell(chance: Random): Cell {
  const operation = 'GET /events';
  const stream = maybe(chance, 0.2, [1, 2, 3, 5]);
  if (stream !== undefined) return { operation, stream };
  return defined({
    operation,
    cursor: maybe(chance, 0.25, CURSORS),
    typed: maybe(chance, 0.15, [true, false]),
    restarted: maybe(chance, 0.12, [true]),
    connection: maybe(chance, 0.08, ['new', 'kept'] as const),
  });
}

/** How a stream is asked for, and what its request is answered. */
function requestChange(chance: Random): Drawn {
  const kind = chance.pick([
    ...kindsOf('request').filter((each) => !['body-lost', 'other-version'].includes(each)),
    'refused',
    'media',
  ] as const);
  const { cursor, typed, ...cell } = streamCell(chance);
  const withCursor = ['query', 'header', 'both'] as const;
  if (kind === 'query-lost') {
    const value = chance.pick(['after', 'types']);
    return {
      kind,
      cell: {
        ...cell,
        ...defined({ cursor: value === 'after' ? maybe(chance, 0.4, ['query', 'both'] as const) : undefined }),
      },
      value,
    };
  }
  if (kind === 'types-cut') return { kind, cell };
  if (kind === 'header-lost') return { kind, cell: { ...cell, ...defined({ typed }), cursor: 'header' } };
  if (kind === 'cursor-inclusive')
    return { kind, cell: { ...cell, ...defined({ typed, cursor: maybe(chance, 0.4, withCursor) }) } };
  // A cursor has expired long after the first streams.
  if (kind === 'let-through')
    return { kind, cell: { operation: 'GET /events', ...defined({ cursor: maybe(chance, 0.6, withCursor) }) } };
  const value = kind === 'refused' ? chance.pick(['410', '500', '404']) : undefined;
  return {
    kind,
    cell: { ...cell, ...defined({ typed, cursor: value === '410' ? maybe(chance, 0.4, withCursor) : cursor }) },
    ...defined({ value }),
  };
}

const ENVELOPE = Object.keys(eventEnvelope.schema.properties);
const PAYLOAD = Object.keys(deployedPayload.schema.properties);

/** The member of an event that a kind changes. */
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
  if (kind === 'heartbeat-lost') return { kind, cell: { ...stream, ...defined({ cursor }) } };
  const phase = maybe(chance, 0.5, ['replay', 'live'] as const);
  const places: readonly (number | 'last')[] = phase === 'replay' ? [1, 2, 'last', 'last'] : [1, 2, 3];
  const cell: Cell = {
    ...stream,
    // Without a cursor, a stream need not replay anything.
    ...defined({ cursor: phase === 'live' || cursor !== 'none' ? cursor : undefined, phase }),
    ...defined({ place: maybe(chance, 0.4, places), type: maybe(chance, 0.2, EVENT_TYPES) }),
  };
  if (isFrame) return { kind, cell };
  const path = eventPath(chance, kind);
  // The payload of a removal is not shown: it differs only where the same event is seen as it was.
  const isWide = phase === undefined && stream.stream === undefined;
  const isDeployed = path[1] === 'deployed_at' || (path.length > 1 && isWide);
  return { kind, cell: isDeployed ? { ...cell, type: 'deployment.deployed' } : cell, path };
}
