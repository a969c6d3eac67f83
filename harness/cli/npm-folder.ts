/**
 * `npm run muster` in a folder of the checkout runs in the checkout's root, and says in INIT_CWD where it was called: there paths
 * of the command line begin. Imported for its effect, before anything can look at the current folder.
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
    // What is started from here runs where it is told to.
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
