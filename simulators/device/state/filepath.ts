/** Where a config file may go: below the robot's own root, whatever path the platform names. */
import { DeployError } from '../ports.ts';

const LONGEST_NAME = 255;
const LONGEST_PATH = 2_048;

/**
 * The path of `filepath` relative to the root: an absolute one is taken as if the root were `/`. Throws a DeployError that is
 * not retryable for anything that could lead elsewhere or cannot be a file name.
 */
export function relativePath(filepath: string): string {
  const refuse = (why: string): never => {
    const shown = filepath.length > 120 ? `${filepath.slice(0, 120)}…` : filepath;
    throw new DeployError(`config file path ${JSON.stringify(shown)} ${why}`, false);
  };
  if (filepath.includes('\0')) refuse('contains a NUL');
  if (Buffer.byteLength(filepath) > LONGEST_PATH) refuse(`is longer than ${LONGEST_PATH} bytes`);
  const names = filepath.split('/').filter((name) => name !== '' && name !== '.');
  if (names.includes('..')) refuse("leads upwards ('..')");
  if (names.length === 0 || filepath.endsWith('/') || filepath.endsWith('/.')) refuse('names no file');
  if (names.some((name) => Buffer.byteLength(name) > LONGEST_NAME))
    refuse(`has a name longer than ${LONGEST_NAME} bytes`);
  return names.join('/');
}

/** The relative paths of a whole set. Two files in one place, or a file where another needs a directory, are refused. */
export function relativePaths(filepaths: readonly string[]): string[] {
  const paths = filepaths.map(relativePath);
  const taken = new Set(paths);
  if (taken.size < paths.length) {
    const twice = paths.find((path, at) => paths.indexOf(path) !== at);
    throw new DeployError(`two config files want the path ${JSON.stringify(twice)}`, false);
  }
  for (const path of paths) {
    for (let slash = path.indexOf('/'); slash > 0; slash = path.indexOf('/', slash + 1)) {
      const parent = path.slice(0, slash);
      if (taken.has(parent))
        throw new DeployError(`${JSON.stringify(parent)} is wanted as a file and as a directory`, false);
    }
  }
  return paths;
}
