import { hash } from 'node:crypto';
import type { KeyFacts } from '../../platform/behaviour.ts';
import type { PlatformDefect } from './types.ts';

export const keyByPrefix: PlatformDefect = {
  name: 'key-by-prefix',
  side: 'platform',
  summary: 'Takes whatever begins with a key for that key.',
  breaks: ['platform.auth.key-wrong'],
  behaviour: (right) => ({
    ...right,
    authenticate: (found, presented = '', all) => found ?? all.find((key) => begins(presented, key)),
  }),
};

/** Of a key only the digest is kept. */
function begins(presented: string, key: KeyFacts): boolean {
  const digest = 'digest' in key ? String(key.digest) : '';
  return Array.from(presented, (_, length) => hash('sha256', presented.slice(0, length), 'hex')).includes(digest);
}
