/** Certificates for 127.0.0.1 that are valid, expired, or of somebody else. Made by openssl. For tests. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** PEM. */
export interface Certificate {
  cert: string;
  key: string;
}

export class Authority implements Disposable {
  readonly #dir = mkdtempSync(join(tmpdir(), 'muster-ca-'));
  /** The file with its own certificate. */
  readonly file = join(this.#dir, 'ca.pem');
  #issued = 0;

  constructor() {
    this.#openssl('req', '-x509', ...KEY, '-days', '3', '-subj', '/CN=test', '-keyout', 'ca.key', '-out', 'ca.pem');
    writeFileSync(join(this.#dir, 'names'), 'subjectAltName=IP:127.0.0.1,DNS:localhost');
  }

  /** `days`: how long it is valid; a negative number for one that has expired. */
  issue(days: number): Certificate {
    const name = `server-${++this.#issued}`;
    this.#openssl('req', ...KEY, '-subj', '/CN=localhost', '-keyout', `${name}.key`, '-out', `${name}.csr`);
    const by = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-extfile', 'names'];
    this.#openssl('x509', '-req', '-in', `${name}.csr`, ...by, '-days', String(days), '-out', `${name}.pem`);
    const read = (file: string): string => readFileSync(join(this.#dir, file), 'utf8');
    return { cert: read(`${name}.pem`), key: read(`${name}.key`) };
  }

  [Symbol.dispose](): void {
    rmSync(this.#dir, { recursive: true, force: true });
  }

  #openssl(...words: string[]): void {
    execFileSync('openssl', words, { cwd: this.#dir, stdio: ['ignore', 'ignore', 'pipe'] });
  }
}

const KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
