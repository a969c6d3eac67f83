/** API keys and their scopes (section 5 of the specification), stored as digests. */
import { hash, timingSafeEqual } from 'node:crypto';
import type { KeyFacts } from './behaviour.ts';

export interface KeyOption {
  key: string;
  name?: string;
  scopes: readonly string[] | 'all';
}

export interface ApiKey extends KeyFacts {
  id: string;
  name: string;
  digest: Buffer;
}

const digestOf = (text: string): string => hash('sha256', text, 'hex');

const SCOPED = ['config_instances', 'config_schemas', 'config_types', 'git_commits', 'groups', 'releases'] as const;

export const SCOPES: readonly string[] = [
  ...SCOPED.flatMap((resource) => ['manage', 'read', 'write'].map((action) => `${resource}:${action}`)),
  ...['manage', 'write'].map((action) => `provisioning_tokens:${action}`),
  ...['manage', 'read', 'write', 'stage', 'deploy', 'archive'].map((action) => `deployments:${action}`),
  ...['manage', 'read', 'write', 'provision', 'delete'].map((action) => `devices:${action}`),
];

export class KeyRing {
  readonly keys: readonly ApiKey[];
  readonly #presented = Buffer.alloc(64);

  /** Throws RangeError for an empty or repeated key, or an unknown scope; the message never contains a key. */
  constructor(options: readonly KeyOption[]) {
    const texts = new Set(options.map(({ key }) => key));
    if (texts.size < options.length) throw new RangeError('an API key is given twice');
    this.keys = options.map(({ key, name, scopes }, index) => {
      if (key.length === 0) throw new RangeError('an API key must not be empty');
      const unknown = scopes === 'all' ? undefined : scopes.find((scope) => !SCOPES.includes(scope));
      if (unknown !== undefined)
        throw new RangeError(`unknown scope ${JSON.stringify(unknown)}; accepted are ${SCOPES.join(', ')}`);
      const hex = digestOf(key);
      // Hashes the digest again, so that the public id does not reveal it.
      const id = `key_${digestOf(hex).slice(0, 20)}`;
      return { id, name: name ?? `API key ${index + 1}`, scopes, digest: Buffer.from(hex, 'latin1') };
    });
  }

  /** Compares in constant time, so that timing reveals no key. */
  find(presented: string | undefined): ApiKey | undefined {
    if (presented === undefined) return undefined;
    // Reuses one buffer, because a new one for each digest takes four times as long.
    this.#presented.write(digestOf(presented), 'latin1');
    let found: ApiKey | undefined;
    for (const key of this.keys) if (timingSafeEqual(key.digest, this.#presented)) found = key;
    return found;
  }
}
