/** A digest over the files of the suites, by which a certificate names them exactly. */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The suites of one Muster. */
export interface SuitesDigest {
  /** Lowercase hex SHA-256. */
  sha256: string;
  files: number;
  /** `source`: the TypeScript of a checkout. `package`: the compiled files of the published package. They digest differently. */
  form: 'source' | 'package';
}

/** The suites, and the part of the harness that decides outcomes. */
const FOLDERS = ['suites', 'harness/runner', 'harness/client', 'harness/contract'];

/** The directory above `harness/`: of the checkout, or of `dist/`. */
const ROOT = join(import.meta.dirname, '../../..');

/** As by `find … | sort | sha256sum | sha256sum` over those files, without tests. */
export function suitesDigest(root: string = ROOT): SuitesDigest {
  const form = import.meta.filename.endsWith('.ts') ? 'source' : 'package';
  const files = FOLDERS.filter((folder) => existsSync(join(root, folder)))
    .flatMap((folder) => readdirSync(join(root, folder), { recursive: true }).map((file) => `${folder}/${file}`))
    .map((file) => file.replaceAll('\\', '/'))
    .filter((file) => file.endsWith(form === 'source' ? '.ts' : '.js') && !/\.test\.|\.d\.ts$|\/testing\//.test(file))
    .sort();
  const lines = files.map((file) => `${sha256(readFileSync(join(root, file)))}  ${file}\n`);
  return { sha256: sha256(lines.join('')), files: files.length, form };
}

const sha256 = (content: string | Buffer): string => createHash('sha256').update(content).digest('hex');
