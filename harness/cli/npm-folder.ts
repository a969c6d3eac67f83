/**
 * `npm run muster` runs in the root of the checkout and passes the folder of the caller in INIT_CWD. Paths on the command line are
 * relative to that folder. Imported for its effect, before anything looks at the current folder.
 */
import { realpathSync, statSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

/** The scripts of this project that are the command. */
const SCRIPTS = ['muster', 'start'];

const { INIT_CWD: called, npm_lifecycle_event: script = '', npm_package_json: manifest } = process.env;
if (called !== undefined && manifest !== undefined && SCRIPTS.includes(script) && isFolder(called)) {
  const root = fileURLToPath(new URL('../..', import.meta.url));
  if (same(manifest, join(root, 'package.json')) && same(process.cwd(), root)) {
    process.chdir(called);
    // Processes that are started from here keep the folder that they are given.
    delete process.env['INIT_CWD'];
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

function same(left: string, right: string): boolean {
  try {
    return realpathSync(left) === realpathSync(right);
  } catch {
    return false;
  }
}
