import { expect, it } from 'vitest';
import type { Capability } from '../../../harness/runner/types.ts';
import { deviceSuite } from '../index.ts';
import { ROWS } from './decides.ts';

/** Capabilities without which a difference or a situation does not occur. */
const NEEDS: Readonly<Record<string, readonly Capability[]>> = {
  'served though gone': ['compact'],
  refused: ['compact'],
  'log emptied': ['compact'],
  file: ['files'],
  compaction: ['compact'],
  restart: ['restart'],
  kill: ['restart'],
  tear: ['restart', 'log'],
};

const NAMED = ROWS.flatMap(({ what = [], situation = [], id }) =>
  (what.length === 0 ? [undefined] : what).flatMap((difference) =>
    (situation.length === 0 ? [undefined] : situation).map((each) => [difference, each, id] as const),
  ),
);

it.for(NAMED)('a difference "%s" in the situation "%s" is reported: %s', ([what = '', situation = '', id]) => {
  const declared = new Set<Capability>(['drive', ...(NEEDS[what] ?? []), ...(NEEDS[situation] ?? [])]);
  const able = deviceSuite.checks.filter(
    ({ requirement, varied, needs = [] }) =>
      requirement.id === id && varied === false && needs.every((need) => declared.has(need)),
  );
  expect(able).not.toEqual([]);
});
