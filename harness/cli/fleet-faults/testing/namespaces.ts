/** A network namespace for robots at the far end of a cable, and names that a test changes. Needs root and `ip`. For tests. */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';

/** Names of interfaces have at most 15 characters. */
let cables = 0;

/** Why tests with namespaces are skipped here; empty when they are not. */
export const noNamespaces = (() => {
  if (process.getuid?.() !== 0) return ' (skipped: needs root)';
  try {
    const name = `muster-try-${process.pid}`;
    run('ip', 'netns', 'add', name);
    run('ip', 'netns', 'del', name);
    return '';
  } catch (error) {
    return ` (skipped: no network namespaces: ${(error as Error).message.split('\n')[0]})`;
  }
})();

function run(program: string, ...words: string[]): void {
  execFileSync(program, words, { stdio: ['ignore', 'ignore', 'pipe'] });
}

export class Cable implements Disposable {
  readonly #name = `mf${process.pid}-${++cables}`;
  readonly #near = `n${this.#name}`.slice(0, 15);
  /** A network of this process alone: four addresses. */
  readonly #net = `10.${200 + (process.pid % 50)}.${(process.pid >> 6) % 250}`;
  /** Address of this side, as the other one reaches it. */
  readonly address = `${this.#net}.1`;

  constructor() {
    const far = `f${this.#name}`.slice(0, 15);
    run('ip', 'netns', 'add', this.#name);
    run('ip', '-n', this.#name, 'link', 'set', 'lo', 'up');
    run('ip', 'link', 'add', this.#near, 'type', 'veth', 'peer', 'name', far, 'netns', this.#name);
    run('ip', 'address', 'add', `${this.address}/30`, 'dev', this.#near);
    run('ip', '-n', this.#name, 'address', 'add', `${this.#net}.2/30`, 'dev', far);
    run('ip', '-n', this.#name, 'link', 'set', far, 'up');
    this.plug();
  }

  /** The words before a command that runs at the other end. */
  get farEnd(): string[] {
    return ['ip', 'netns', 'exec', this.#name];
  }

  plug(): void {
    run('ip', 'link', 'set', this.#near, 'up');
  }

  /** Every packet is lost from now on, and neither end is told: connections are half open. */
  unplug(): void {
    run('ip', 'link', 'set', this.#near, 'down');
  }

  [Symbol.dispose](): void {
    run('ip', 'netns', 'del', this.#name);
  }
}

/** The words before a command that resolves names by the file `hosts` alone, which may change while it runs. Writes both files. */
export function withHosts(hosts: string, services: string, names: string): string[] {
  writeFileSync(hosts, names);
  writeFileSync(services, 'hosts: files\n');
  const mounts = `mount --bind '${hosts}' /etc/hosts && mount --bind '${services}' /etc/nsswitch.conf && exec "$@"`;
  return ['unshare', '--mount', 'sh', '-c', mounts, 'sh'];
}
